package targets

import (
	"context"
	"slices"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Provider is a storage provider written in Go. A nil function is an operation
// that it does not offer; Info.Protocol may stay 0.
type Provider struct {
	Info           Info
	OpenLocation   func(ctx context.Context, config StoreConfig) (spi.LocationStore, error)
	OpenRelocation func(ctx context.Context, config StoreConfig) (spi.RelocationStore, error)
	Surface        func() []string
	// Another is the same provider as a new process would have it. A nil one
	// says that the provider keeps nothing outside its stores.
	Another func() Provider
	// Skewed is the same provider as if the host's clock ran offset ahead. It
	// goes with CapClock, and is for providers whose clock is handed to them:
	// Go itself does not ask the C library for the time.
	Skewed func(offset time.Duration) Provider
}

// InProcess is the provider as a target in this process. Closing it does not
// close the stores that it opened.
func InProcess(p Provider) Target {
	p.Info.Protocol = protocol.Version
	return &inProcess{p}
}

type inProcess struct{ provider Provider }

func (t *inProcess) Info() Info { return t.provider.Info }

func (t *inProcess) Skewed(_ context.Context, offset time.Duration) (Target, error) {
	if t.provider.Skewed == nil {
		return nil, Unsupported("the provider's host clock can't be moved")
	}
	return InProcess(t.provider.Skewed(offset)), nil
}

func (t *inProcess) Another(context.Context) (Target, error) {
	if t.provider.Another == nil {
		return InProcess(t.provider), nil
	}
	return InProcess(t.provider.Another()), nil
}

func (t *inProcess) OpenLocation(ctx context.Context, config StoreConfig) (Location, error) {
	store, err := openGuarded(ctx, "location", config, t.provider.OpenLocation)
	if err != nil {
		return nil, err
	}
	return GuardLocation(store), nil
}

func (t *inProcess) OpenRelocation(ctx context.Context, config StoreConfig) (Relocation, error) {
	store, err := openGuarded(ctx, "relocation", config, t.provider.OpenRelocation)
	if err != nil {
		return nil, err
	}
	return GuardRelocation(store), nil
}

func openGuarded[S any](ctx context.Context, store string, config StoreConfig,
	open func(context.Context, StoreConfig) (S, error)) (S, error) {
	var none S
	if open == nil {
		return none, Unsupported("the provider offers no %s store", store)
	}
	if config.Share != nil {
		if config.Share = Unguard(config.Share); config.Share == nil {
			return none, Unsupported("the store to share a connection with was not opened by this provider")
		}
	}
	return await(ctx, "open "+store, func(ctx context.Context) (S, error) {
		opened, err := answered(open(ctx, config))
		if err == nil && GivenUp(ctx) { // nobody waits for it any more
			any(opened).(Store).Close()
			err = context.Cause(ctx)
		}
		return opened, err
	})
}

// Unguard returns the provider's own store of a guarded one, or nil.
func Unguard(store Store) Store {
	switch s := store.(type) {
	case *guardedLocation:
		return s.store
	case *guardedRelocation:
		return s.store
	}
	return nil
}

func (t *inProcess) Surface(context.Context) ([]string, error) {
	if t.provider.Surface == nil {
		return nil, Unsupported("the provider lists no public declarations")
	}
	return slices.Clone(t.provider.Surface()), nil
}

func (t *inProcess) Log(mark int64) ([]string, int64) { return nil, mark }

func (t *inProcess) Close() error { return nil }
