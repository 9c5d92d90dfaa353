package resilience_test

import (
	"context"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// location is the reference's Location Store with other functions in front.
type location struct {
	spi.LocationStore
	read  func(context.Context, spi.Key) (spi.ReadResult, error)
	write func(context.Context, spi.WriteRequest) (spi.WriteResult, error)
	close func() error

	timeout time.Duration
}

func (l *location) Read(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
	return l.read(ctx, k)
}
func (l *location) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	return l.write(ctx, w)
}
func (l *location) Close() error { return l.close() }

// relocation is location for the Relocation Store.
type relocation struct {
	spi.RelocationStore
	put   func(context.Context, spi.Reference, []byte, spi.Retention) (spi.BlobPutResult, error)
	read  func(context.Context, spi.Reference) (spi.BlobReadResult, error)
	renew func(context.Context, spi.Reference, spi.Retention) (spi.BlobRenewResult, error)

	timeout time.Duration
}

func (r *relocation) Put(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
	return r.put(ctx, ref, p, ms)
}
func (r *relocation) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	return r.read(ctx, ref)
}
func (r *relocation) Renew(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
	return r.renew(ctx, ref, ms)
}

// decorated is the reference with hooks set on every store that it opens; a
// nil function leaves that kind of store alone.
func decorated(onLocation func(*location), onRelocation func(*relocation)) targets.Provider {
	whole := refprovider.New()
	p := whole
	p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
		s, err := whole.OpenLocation(ctx, unwrapped(c))
		if err != nil || onLocation == nil {
			return s, err
		}
		l := &location{s, s.Read, s.Write, s.Close, c.OperationTimeout}
		onLocation(l)
		return l, nil
	}
	p.OpenRelocation = func(ctx context.Context, c targets.StoreConfig) (spi.RelocationStore, error) {
		s, err := whole.OpenRelocation(ctx, unwrapped(c))
		if err != nil || onRelocation == nil {
			return s, err
		}
		r := &relocation{s, s.Put, s.Read, s.Renew, c.OperationTimeout}
		onRelocation(r)
		return r, nil
	}
	return p
}

// unwrapped shares the connection of the reference's own store.
func unwrapped(c targets.StoreConfig) targets.StoreConfig {
	switch s := c.Share.(type) {
	case *location:
		c.Share = s.LocationStore
	case *relocation:
		c.Share = s.RelocationStore
	}
	return c
}
