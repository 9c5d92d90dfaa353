package process

import (
	"context"
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// remoteStore is a store that an adapter process opened.
type remoteStore struct {
	child   *child
	handle  int64
	store   string // its kind
	silence *silence
}

func (s *remoteStore) remote() *remoteStore { return s }

func (s *remoteStore) call(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	r.Handle = s.handle
	started := time.Now()
	result, err := s.child.call(ctx, r)
	restart, err := s.silence.note(s.child, s.store, started, err)
	if restart {
		go s.child.stop()
	}
	return result, err
}

// expect makes a call of which the result holds nothing but its kind.
func (s *remoteStore) expect(ctx context.Context, r *protocol.Request, kind string) error {
	result, err := s.call(ctx, r)
	if err == nil && result.Kind != kind {
		err = wrongShape(r.Op, fmt.Errorf("the field %q is %q, expected %q", "kind", result.Kind, kind))
	}
	return err
}

func (s *remoteStore) Close() error {
	ctx, cancel := targets.BoundClose()
	defer cancel()
	return s.expect(ctx, &protocol.Request{Op: protocol.OpClose}, protocol.KindClosed)
}

// recheck asks for the buffer that the read with this id holds.
func (s *remoteStore) recheck(read int64) targets.Recheck {
	return func(ctx context.Context) ([]byte, error) {
		r, err := s.child.call(ctx, &protocol.Request{Op: protocol.OpRecheck, Of: read})
		return shaped(protocol.OpRecheck, r, err, (*protocol.Result).HeldBytes)
	}
}

// shaped turns a call's result into what its operation answers.
func shaped[R any](operation string, r *protocol.Result, err error, read func(*protocol.Result) (R, error)) (R, error) {
	var none R
	if err != nil {
		return none, err
	}
	out, err := read(r)
	if err != nil {
		return none, wrongShape(operation, err)
	}
	return out, nil
}

type remoteLocation struct{ *remoteStore }

func (l *remoteLocation) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	r, err := l.call(ctx, &protocol.Request{Op: protocol.OpLocationRead, Key: protocol.NewText(key)})
	return shaped(protocol.OpLocationRead, r, err, (*protocol.Result).ReadResult)
}

func (l *remoteLocation) ReadHeld(ctx context.Context, key spi.Key) (spi.ReadResult, targets.Recheck, error) {
	request := &protocol.Request{Op: protocol.OpLocationRead, Key: protocol.NewText(key), Hold: true}
	r, err := l.call(ctx, request)
	out, err := shaped(request.Op, r, err, (*protocol.Result).ReadResult)
	return out, l.recheck(request.ID), err
}

func (l *remoteLocation) Write(ctx context.Context, request spi.WriteRequest) (spi.WriteResult, error) {
	r, err := l.call(ctx, &protocol.Request{Op: protocol.OpLocationWrite,
		Conditions: protocol.NewConditions(request.Conditions), Mutations: protocol.NewMutations(request.Mutations)})
	return shaped(protocol.OpLocationWrite, r, err, (*protocol.Result).WriteResult)
}

func (l *remoteLocation) Scan(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
	r, err := l.call(ctx, &protocol.Request{Op: protocol.OpLocationScan,
		Prefix: protocol.NewText(request.Prefix), Cursor: (*protocol.Text)(request.Cursor), Limit: &request.Limit})
	return shaped(protocol.OpLocationScan, r, err, (*protocol.Result).ScanResult)
}

type remoteRelocation struct{ *remoteStore }

func (l *remoteRelocation) Put(ctx context.Context, ref spi.Reference, payload []byte,
	retention spi.Retention) (spi.BlobPutResult, error) {
	return l.put(ctx, ref, protocol.NewBytes(payload), retention)
}

func (l *remoteRelocation) PutFill(ctx context.Context, ref spi.Reference, fill targets.Fill,
	retention spi.Retention) (spi.BlobPutResult, error) {
	return l.put(ctx, ref, &protocol.Bytes{Fill: &fill}, retention)
}

func (l *remoteRelocation) put(ctx context.Context, ref spi.Reference, payload *protocol.Bytes,
	retention spi.Retention) (spi.BlobPutResult, error) {
	r, err := l.call(ctx, &protocol.Request{Op: protocol.OpRelocationPut,
		Reference: protocol.NewText(ref), Payload: payload, RetentionMs: (*float64)(&retention)})
	return shaped(protocol.OpRelocationPut, r, err, (*protocol.Result).BlobPutResult)
}

func (l *remoteRelocation) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	r, err := l.call(ctx, &protocol.Request{Op: protocol.OpRelocationRead, Reference: protocol.NewText(ref)})
	return shaped(protocol.OpRelocationRead, r, err, (*protocol.Result).BlobReadResult)
}

func (l *remoteRelocation) ReadDigest(ctx context.Context, ref spi.Reference) (targets.DigestResult, error) {
	r, err := l.call(ctx, &protocol.Request{Op: protocol.OpRelocationRead, Reference: protocol.NewText(ref), Digest: true})
	return shaped(protocol.OpRelocationRead, r, err, (*protocol.Result).Digest)
}

func (l *remoteRelocation) ReadHeld(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, targets.Recheck, error) {
	request := &protocol.Request{Op: protocol.OpRelocationRead, Reference: protocol.NewText(ref), Hold: true}
	r, err := l.call(ctx, request)
	out, err := shaped(request.Op, r, err, (*protocol.Result).BlobReadResult)
	return out, l.recheck(request.ID), err
}

func (l *remoteRelocation) Renew(ctx context.Context, ref spi.Reference, retention spi.Retention) (spi.BlobRenewResult, error) {
	r, err := l.call(ctx, &protocol.Request{Op: protocol.OpRelocationRenew, Reference: protocol.NewText(ref),
		RetentionMs: (*float64)(&retention)})
	return shaped(protocol.OpRelocationRenew, r, err, (*protocol.Result).BlobRenewResult)
}

func (l *remoteRelocation) Delete(ctx context.Context, ref spi.Reference) error {
	return l.expect(ctx, &protocol.Request{Op: protocol.OpRelocationDelete, Reference: protocol.NewText(ref)},
		protocol.KindDeleted)
}
