package mutants

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// location is a Location Store of which single operations are replaced; a nil
// hook is the reference's own operation.
type location struct {
	spi.LocationStore
	config targets.StoreConfig // that it was opened with

	read  func(context.Context, spi.Key) (spi.ReadResult, error)
	write func(context.Context, spi.WriteRequest) (spi.WriteResult, error)
	scan  func(context.Context, spi.ScanRequest) (spi.ScanResult, error)
	close func() error
}

func (l *location) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	if l.read == nil {
		return l.LocationStore.Read(ctx, key)
	}
	return l.read(ctx, key)
}

func (l *location) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	if l.write == nil {
		return l.LocationStore.Write(ctx, w)
	}
	return l.write(ctx, w)
}

func (l *location) Scan(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
	if l.scan == nil {
		return l.LocationStore.Scan(ctx, r)
	}
	return l.scan(ctx, r)
}

func (l *location) Close() error {
	if l.close == nil {
		return l.LocationStore.Close()
	}
	return l.close()
}

// relocation is location for a Relocation Store.
type relocation struct {
	spi.RelocationStore
	config targets.StoreConfig

	put    func(context.Context, spi.Reference, []byte, spi.Retention) (spi.BlobPutResult, error)
	read   func(context.Context, spi.Reference) (spi.BlobReadResult, error)
	renew  func(context.Context, spi.Reference, spi.Retention) (spi.BlobRenewResult, error)
	delete func(context.Context, spi.Reference) error
	close  func() error
}

func (r *relocation) Put(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
	if r.put == nil {
		return r.RelocationStore.Put(ctx, ref, p, ms)
	}
	return r.put(ctx, ref, p, ms)
}

func (r *relocation) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	if r.read == nil {
		return r.RelocationStore.Read(ctx, ref)
	}
	return r.read(ctx, ref)
}

func (r *relocation) Renew(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
	if r.renew == nil {
		return r.RelocationStore.Renew(ctx, ref, ms)
	}
	return r.renew(ctx, ref, ms)
}

func (r *relocation) Delete(ctx context.Context, ref spi.Reference) error {
	if r.delete == nil {
		return r.RelocationStore.Delete(ctx, ref)
	}
	return r.delete(ctx, ref)
}

func (r *relocation) Close() error {
	if r.close == nil {
		return r.RelocationStore.Close()
	}
	return r.close()
}

// onLocation is a mutant whose Location Stores are changed when they are opened.
func onLocation(id, breaks, title string, change func(*location)) Mutant {
	return provided(id, breaks, title, func() targets.Provider { return hooked(refprovider.New(), change, nil) })
}

// onRelocation is onLocation for the Relocation Store.
func onRelocation(id, breaks, title string, change func(*relocation)) Mutant {
	return provided(id, breaks, title, func() targets.Provider { return hooked(refprovider.New(), nil, change) })
}

// provided is a mutant of which the whole provider is made anew for each run.
func provided(id, breaks, title string, provider func() targets.Provider) Mutant {
	return Mutant{ID: id, Requirements: requirements(breaks), Title: title, provider: provider}
}

// hooked changes the stores that the provider opens; it sees its own stores as
// those to share a connection with. A nil change changes nothing.
func hooked(p targets.Provider, onLocation func(*location), onRelocation func(*relocation)) targets.Provider {
	openLocation, openRelocation := p.OpenLocation, p.OpenRelocation
	p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
		s, err := openLocation(ctx, unwrapped(c))
		if err != nil {
			return nil, err
		}
		l := &location{LocationStore: s, config: c}
		if onLocation != nil {
			onLocation(l)
		}
		return l, nil
	}
	p.OpenRelocation = func(ctx context.Context, c targets.StoreConfig) (spi.RelocationStore, error) {
		s, err := openRelocation(ctx, unwrapped(c))
		if err != nil {
			return nil, err
		}
		r := &relocation{RelocationStore: s, config: c}
		if onRelocation != nil {
			onRelocation(r)
		}
		return r, nil
	}
	return p
}

func unwrapped(c targets.StoreConfig) targets.StoreConfig {
	switch s := c.Share.(type) {
	case *location:
		c.Share = s.LocationStore
	case *relocation:
		c.Share = s.RelocationStore
	}
	return c
}

// client is a plain client of the Redis that a store was opened on. The caller
// closes it.
func client(c targets.StoreConfig) (*redis.Client, error) {
	c.Share = nil
	o, err := refprovider.Options(c)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(o.Redis), nil
}

func failure(message string) error {
	return &spi.Error{Kind: spi.KindStoreFailure, Message: message}
}
