package adapter

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// handle carries a request out.
func (s *server) handle(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	switch r.Op {
	case protocol.OpHello:
		return &protocol.Result{Kind: protocol.KindHello, Info: &s.provider.Info}, nil
	case protocol.OpSurface:
		if s.provider.Surface == nil {
			return nil, targets.Unsupported("the provider lists no public declarations")
		}
		return &protocol.Result{Kind: protocol.KindSurface, Declarations: s.provider.Surface()}, nil
	case protocol.OpCancel:
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel, ok := s.running[r.Of]; ok {
			cancel()
		}
		return &protocol.Result{Kind: protocol.KindCancelling}, nil
	case protocol.OpRecheck:
		return s.recheck(ctx, r)
	case protocol.OpOpen:
		return s.open(ctx, r)
	case protocol.OpClose:
		return s.close(r)
	case protocol.OpLocationRead, protocol.OpLocationWrite, protocol.OpLocationScan:
		store, ok := s.store(r.Handle).(targets.Location)
		if !ok {
			return nil, unknownHandle(r.Handle)
		}
		return s.location(ctx, r, store)
	case protocol.OpRelocationPut, protocol.OpRelocationRead, protocol.OpRelocationRenew, protocol.OpRelocationDelete:
		store, ok := s.store(r.Handle).(targets.Relocation)
		if !ok {
			return nil, unknownHandle(r.Handle)
		}
		return s.relocation(ctx, r, store)
	}
	return nil, targets.Unsupported("unknown operation %q", r.Op)
}

// store returns the targets.Location or targets.Relocation of the handle, or nil.
func (s *server) store(handle int64) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stores[handle]
}

func unknownHandle(handle int64) error {
	return internal(fmt.Errorf("no such store was opened with handle %d", handle))
}

func (s *server) open(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	if r.Redis == nil {
		return nil, internal(missing("redis"))
	}
	config := Config{
		Redis:            *r.Redis,
		KeyPrefix:        r.KeyPrefix,
		OperationTimeout: time.Duration(r.OperationTimeoutMs) * time.Millisecond,
	}
	if r.Share != 0 {
		shared, ok := s.store(r.Share).(targets.Store)
		if !ok {
			return nil, unknownHandle(r.Share)
		}
		config.Share = shared
	}
	// The in-process target is the piece that guards the provider's buffers.
	provider := targets.InProcess(s.provider)
	var store any
	var err error
	switch r.Store {
	case targets.StoreLocation:
		store, err = provider.OpenLocation(ctx, config)
	case targets.StoreRelocation:
		store, err = provider.OpenRelocation(ctx, config)
	default:
		err = targets.Unsupported("unknown store %q", r.Store)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stores[r.Handle] = store
	return &protocol.Result{Kind: protocol.KindOpened}, nil
}

// close closes a store. The handle stays known, because operations on a closed
// store and closing it again are the provider's to answer (L7.dispose).
func (s *server) close(r *protocol.Request) (*protocol.Result, error) {
	s.mu.Lock()
	store, ok := s.stores[r.Handle].(targets.Store)
	maps.DeleteFunc(s.held, func(_ int64, h heldResult) bool { return h.handle == r.Handle })
	s.mu.Unlock()
	if !ok {
		return nil, unknownHandle(r.Handle)
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return &protocol.Result{Kind: protocol.KindClosed}, nil
}

func (s *server) hold(r *protocol.Request, recheck targets.Recheck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[r.ID] = heldResult{r.Handle, recheck}
}

func (s *server) recheck(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	s.mu.Lock()
	h, ok := s.held[r.Of]
	s.mu.Unlock()
	if !ok {
		return nil, internal(fmt.Errorf("request %d holds no result, or its store was closed", r.Of))
	}
	b, err := h.recheck(ctx)
	if err != nil {
		return nil, err
	}
	return &protocol.Result{Kind: protocol.KindHeld, Bytes: protocol.NewBytes(b)}, nil
}

func (s *server) location(ctx context.Context, r *protocol.Request, store targets.Location) (*protocol.Result, error) {
	switch r.Op {
	case protocol.OpLocationRead:
		if r.Key == nil {
			return nil, internal(missing("key"))
		}
		if r.Hold {
			result, recheck, err := store.ReadHeld(ctx, spi.Key(*r.Key))
			if err == nil {
				s.hold(r, recheck)
			}
			return wire(result, err)
		}
		return wire(store.Read(ctx, spi.Key(*r.Key)))
	case protocol.OpLocationWrite:
		request, err := r.WriteRequest()
		if err != nil {
			return nil, internal(err)
		}
		return wire(store.Write(ctx, request))
	default: // protocol.OpLocationScan
		request, err := r.ScanRequest()
		if err != nil {
			return nil, internal(err)
		}
		return wire(store.Scan(ctx, request))
	}
}

func (s *server) relocation(ctx context.Context, r *protocol.Request, store targets.Relocation) (*protocol.Result, error) {
	if r.Reference == nil {
		return nil, internal(missing("reference"))
	}
	ref := spi.Reference(*r.Reference)
	var retention spi.Retention
	if r.Op == protocol.OpRelocationPut || r.Op == protocol.OpRelocationRenew {
		if r.RetentionMs == nil {
			return nil, internal(missing("retentionMs"))
		}
		retention = spi.Retention(*r.RetentionMs)
	}
	switch r.Op {
	case protocol.OpRelocationPut:
		if r.Payload != nil && r.Payload.Fill != nil {
			return wire(store.PutFill(ctx, ref, *r.Payload.Fill, retention))
		}
		payload, err := r.Payload.Content()
		if err != nil {
			return nil, internal(fmt.Errorf("payload: %w", err))
		}
		return wire(store.Put(ctx, ref, payload, retention))
	case protocol.OpRelocationRead:
		return s.readBlob(ctx, r, store, ref)
	case protocol.OpRelocationRenew:
		return wire(store.Renew(ctx, ref, retention))
	default: // protocol.OpRelocationDelete
		if err := store.Delete(ctx, ref); err != nil {
			return nil, err
		}
		return &protocol.Result{Kind: protocol.KindDeleted}, nil
	}
}

func (s *server) readBlob(ctx context.Context, r *protocol.Request, store targets.Relocation,
	ref spi.Reference) (*protocol.Result, error) {
	switch {
	case r.Hold:
		result, recheck, err := store.ReadHeld(ctx, ref)
		if err == nil {
			s.hold(r, recheck)
		}
		return wire(result, err)
	case r.Digest:
		d, err := store.ReadDigest(ctx, ref)
		if err != nil {
			return nil, err
		}
		return protocol.NewDigestResult(d), nil
	}
	return wire(store.Read(ctx, ref))
}

// wire is a provider's answer on the wire.
func wire(result any, err error) (*protocol.Result, error) {
	if err != nil {
		return nil, err
	}
	return protocol.NewResult(result), nil
}

func missing(field string) error { return fmt.Errorf("the field %q is missing", field) }
