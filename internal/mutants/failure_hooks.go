package mutants

import (
	"context"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// around is a provider whose operations all go through a function: it may run
// the operation or not, and answers its error. Each store has its own.
func around(
	p targets.Provider, made func() func(ctx context.Context, operation func(context.Context) error) error,
) targets.Provider {
	return hooked(p, func(l *location) { l.through(made()) }, func(s *relocation) { s.through(made()) })
}

// through lets all operations of the store go through do.
func (l *location) through(do func(ctx context.Context, operation func(context.Context) error) error) {
	l.read = func(ctx context.Context, key spi.Key) (r spi.ReadResult, err error) {
		err = do(ctx, func(ctx context.Context) (err error) { r, err = l.LocationStore.Read(ctx, key); return err })
		return r, err
	}
	l.write = func(ctx context.Context, w spi.WriteRequest) (r spi.WriteResult, err error) {
		err = do(ctx, func(ctx context.Context) (err error) { r, err = l.LocationStore.Write(ctx, w); return err })
		return r, err
	}
	l.scan = func(ctx context.Context, request spi.ScanRequest) (r spi.ScanResult, err error) {
		err = do(ctx, func(ctx context.Context) (err error) { r, err = l.LocationStore.Scan(ctx, request); return err })
		return r, err
	}
}

// through is location's.
func (r *relocation) through(do func(ctx context.Context, operation func(context.Context) error) error) {
	r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (res spi.BlobPutResult, err error) {
		err = do(ctx, func(ctx context.Context) (err error) { res, err = r.RelocationStore.Put(ctx, ref, p, ms); return err })
		return res, err
	}
	r.read = func(ctx context.Context, ref spi.Reference) (res spi.BlobReadResult, err error) {
		err = do(ctx, func(ctx context.Context) (err error) { res, err = r.RelocationStore.Read(ctx, ref); return err })
		return res, err
	}
	r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (res spi.BlobRenewResult, err error) {
		err = do(ctx, func(ctx context.Context) (err error) { res, err = r.RelocationStore.Renew(ctx, ref, ms); return err })
		return res, err
	}
	r.delete = func(ctx context.Context, ref spi.Reference) error {
		return do(ctx, func(ctx context.Context) error { return r.RelocationStore.Delete(ctx, ref) })
	}
}

// everyError is a provider whose errors are changed.
func everyError(p targets.Provider, change func(error) error) targets.Provider {
	return around(p, func() func(context.Context, func(context.Context) error) error {
		return func(ctx context.Context, operation func(context.Context) error) error {
			if err := operation(ctx); err != nil {
				return change(err)
			}
			return nil
		}
	})
}

// reclassified reports errors of one kind as errors of another.
func reclassified(from, to spi.ErrorKind) func() targets.Provider {
	return func() targets.Provider {
		return everyError(refprovider.New(), func(err error) error {
			if spi.KindOf(err) == from {
				return &spi.Error{Kind: to, Message: err.Error()}
			}
			return err
		})
	}
}

// deafToTokens starts operations whatever their token says.
func deafToTokens() targets.Provider {
	return around(refprovider.New(), func() func(context.Context, func(context.Context) error) error {
		return func(ctx context.Context, operation func(context.Context) error) error {
			return operation(context.WithoutCancel(ctx))
		}
	})
}

// poisoned keeps the first failure of a connection.
func poisoned() targets.Provider {
	return around(refprovider.New(), func() func(context.Context, func(context.Context) error) error {
		var mu sync.Mutex
		var first error
		return func(ctx context.Context, operation func(context.Context) error) error {
			mu.Lock()
			kept := first
			mu.Unlock()
			if kept != nil {
				return kept
			}
			err := operation(ctx)
			if kind := spi.KindOf(err); !answered(err) && (kind == spi.KindStoreFailure || kind == spi.KindTimeout) {
				mu.Lock()
				first = err
				mu.Unlock()
			}
			return err
		}
	})
}

// looksFirst goes to Redis before it looks at the arguments.
func looksFirst() targets.Provider {
	return hooked(refprovider.New(), func(l *location) {
		look := func(ctx context.Context) { _, _ = l.LocationStore.Read(ctx, "look") }
		l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
			look(ctx)
			return l.LocationStore.Read(ctx, key)
		}
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			look(ctx)
			return l.LocationStore.Write(ctx, w)
		}
		l.scan = func(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
			look(ctx)
			return l.LocationStore.Scan(ctx, r)
		}
	}, func(r *relocation) {
		look := func(ctx context.Context) { _, _ = r.RelocationStore.Read(ctx, "look") }
		r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
			look(ctx)
			return r.RelocationStore.Read(ctx, ref)
		}
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			look(ctx)
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
		r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
			look(ctx)
			return r.RelocationStore.Renew(ctx, ref, ms)
		}
		r.delete = func(ctx context.Context, ref spi.Reference) error {
			look(ctx)
			return r.RelocationStore.Delete(ctx, ref)
		}
	})
}

// knowsBetter answers reads of a key that a write with a lost reply was for
// with what it had found there before.
func knowsBetter(l *location) {
	var mu sync.Mutex
	known, stale := map[spi.Key]spi.ReadResult{}, map[spi.Key]bool{}
	l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
		mu.Lock()
		defer mu.Unlock()
		if stale[key] {
			if r := known[key]; r != nil {
				return r, nil
			}
			return spi.Missing{StoreNow: hostNow()}, nil
		}
		r, err := l.LocationStore.Read(ctx, key)
		if err == nil {
			known[key] = r
		}
		return r, err
	}
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		r, err := l.LocationStore.Write(ctx, w)
		if lost(err) {
			mu.Lock()
			for _, m := range w.Mutations {
				stale[m.MutationKey()] = true
			}
			mu.Unlock()
		}
		return r, err
	}
}
