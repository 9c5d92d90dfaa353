package resilience_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/resilience"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

// TestSabotage: a provider that is wrong in one way fails the right case with
// the right requirement.
func TestSabotage(t *testing.T) {
	env := suitetest.Env(t)
	for _, s := range []struct {
		name, id, requirement string
		target                target.Target
	}{
		{"a write is sent again", "unknown/reply-dropped-location-put", "L6.unknown-outcome", target.InProcess(decorated(func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				r, err := l.LocationStore.Write(ctx, w)
				if spi.KindOf(err) == spi.KindStoreFailure {
					return l.LocationStore.Write(ctx, w)
				}
				return r, err
			}
		}, nil))},
		{"a conditional write is sent again", "unknown/reply-dropped-location-cas", "L6.unknown-outcome", target.InProcess(decorated(func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				r, err := l.LocationStore.Write(ctx, w)
				if spi.KindOf(err) == spi.KindStoreFailure {
					return l.LocationStore.Write(ctx, w)
				}
				return r, err
			}
		}, nil))},
		{"a timeout is a Conflict", "failure/silent-location", "L6.unknown-outcome", target.InProcess(decorated(func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				r, err := l.LocationStore.Write(ctx, w)
				if spi.KindOf(err) == spi.KindTimeout {
					return spi.Conflict{StoreNow: 1}, nil
				}
				return r, err
			}
		}, nil))},
		{"a lost read is Missing", "unknown/cut-in-reply-location-read", "L6.unknown-outcome", target.InProcess(decorated(func(l *location) {
			l.read = func(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
				r, err := l.LocationStore.Read(ctx, k)
				if err != nil {
					return spi.Missing{StoreNow: 1}, nil
				}
				return r, err
			}
		}, nil))},
		{"a lost Put is Stored", "unknown/cut-before-relocation-put", "R5.unknown-outcome", target.InProcess(decorated(nil, func(r *relocation) {
			r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
				res, err := r.RelocationStore.Put(ctx, ref, p, ms)
				if err != nil {
					now := spi.Millis(time.Now().UnixMilli())
					return spi.Stored{StoreNow: now, ExpiresAt: now + spi.Millis(ms)}, nil
				}
				return res, err
			}
		}))},
		{"a cancelled Put is Stored", "cancel/silent-relocation", "R5.unknown-outcome", target.InProcess(decorated(nil, func(r *relocation) {
			r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
				res, err := r.RelocationStore.Put(ctx, ref, p, ms)
				if spi.KindOf(err) == spi.KindCancelled {
					return spi.Stored{StoreNow: 1, ExpiresAt: 2}, nil
				}
				return res, err
			}
		}))},
		{"the first failure is kept", "recovery/first-connect-refused-relocation", "R5.recover", target.InProcess(decorated(nil, func(r *relocation) {
			var mu sync.Mutex
			var first error
			r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
				mu.Lock()
				defer mu.Unlock()
				if first != nil {
					return nil, first
				}
				res, err := r.RelocationStore.Read(ctx, ref)
				first = err
				return res, err
			}
		}))},
		{"connecting is not in the timeout", "timeout/connect-and-command-relocation", "R5.timeout", target.InProcess(connectsFirst())},
		{"a read in two steps", "torn/read-overwrite", "L2.observation", target.InProcess(decorated(func(l *location) {
			l.read = func(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
				r, err := l.LocationStore.Read(ctx, k)
				first, ok := r.(spi.Found)
				if !ok {
					return r, err
				}
				r, err = l.LocationStore.Read(ctx, k)
				if second, ok := r.(spi.Found); ok {
					second.Value.Bytes = first.Value.Bytes
					return second, err
				}
				return r, err
			}
		}, nil))},
		{"conditions are checked by a read", "torn/write-lost-update", "L4.all-or-nothing", target.InProcess(decorated(func(l *location) {
			l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
				for _, c := range w.Conditions {
					r, err := l.LocationStore.Read(ctx, c.ConditionKey())
					if err != nil {
						return nil, err
					}
					f, found := r.(spi.Found)
					if v, ok := c.(spi.VersionCondition); ok && (!found || f.Value.Version != v.Expected) {
						return spi.Conflict{StoreNow: f.StoreNow}, nil
					}
				}
				return l.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations})
			}
		}, nil))},
		{"a renewal stores what it has read", "torn/relocation-renew-delete", "R4.renew", target.InProcess(decorated(nil, func(r *relocation) {
			r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
				if found, err := r.RelocationStore.Read(ctx, ref); err == nil {
					if f, ok := found.(spi.BlobFound); ok {
						_, _ = r.RelocationStore.Put(ctx, ref, f.Bytes, ms)
					}
				}
				return r.RelocationStore.Renew(ctx, ref, ms)
			}
		}))},
		{"the host's clock", "clock/ahead-location", "L3.store-now", target.InProcess(decorated(func(l *location) {
			l.read = func(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
				r, err := l.LocationStore.Read(ctx, k)
				if f, ok := r.(spi.Found); ok {
					f.StoreNow = spi.Millis(time.Now().UnixMilli())
					return f, err
				}
				return r, err
			}
		}, nil))},
		{"expired by the host's clock", "clock/jump-relocation", "R3.expiry-clock", target.InProcess(decorated(nil, func(r *relocation) {
			var known sync.Map
			r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
				known.Store(ref, time.Now().Add(time.Duration(ms)*time.Millisecond))
				return r.RelocationStore.Put(ctx, ref, p, ms)
			}
			r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
				res, err := r.RelocationStore.Read(ctx, ref)
				if until, ok := known.Load(ref); ok && err == nil && time.Now().Before(until.(time.Time)) {
					return spi.BlobFound{Bytes: []byte("v")}, nil
				}
				return res, err
			}
		}))},
		{"a key in another slot", "topology/cluster", "L9.slot", suitetest.Sabotaged(suitetest.Edit{Old: "ns .. 'index'", New: "'no tag ' .. #ns"})},
		{"always database 0", "topology/database", "L10.two-stores", target.InProcess(opened(func(c *target.StoreConfig) { c.Redis.DB = 0 }))},
		{"Close takes its time", "dispose/at-work-location", "L7.dispose", target.InProcess(decorated(func(l *location) {
			var once sync.Once
			l.close = func() error {
				once.Do(func() { time.Sleep(4 * time.Second) })
				return l.LocationStore.Close()
			}
		}, nil))},
		{"Close fails on a lost connection", "dispose/without-connection-location", "L7.dispose", target.InProcess(decorated(func(l *location) {
			l.close = func() error {
				_, err := l.LocationStore.Read(context.Background(), "goodbye")
				l.LocationStore.Close()
				return err
			}
		}, nil))},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			suitetest.Catches(t, env, s.target, resilience.Cases(), "resilience/"+s.id, s.requirement)
		})
	}
}

// location is the reference's Location Store with other functions in front.
type location struct {
	spi.LocationStore
	read  func(context.Context, spi.Key) (spi.ReadResult, error)
	write func(context.Context, spi.WriteRequest) (spi.WriteResult, error)
	close func() error
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
func decorated(onLocation func(*location), onRelocation func(*relocation)) target.Provider {
	whole := target.Reference()
	p := whole
	if onLocation != nil {
		p.OpenLocation = func(ctx context.Context, c target.StoreConfig) (spi.LocationStore, error) {
			s, err := whole.OpenLocation(ctx, c)
			if err != nil {
				return nil, err
			}
			l := &location{s, s.Read, s.Write, s.Close}
			onLocation(l)
			return l, nil
		}
	}
	if onRelocation != nil {
		p.OpenRelocation = func(ctx context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
			s, err := whole.OpenRelocation(ctx, c)
			if err != nil {
				return nil, err
			}
			r := &relocation{s, s.Put, s.Read, s.Renew}
			onRelocation(r)
			return r, nil
		}
	}
	return p
}

// opened is the reference, opened on a changed configuration.
func opened(change func(*target.StoreConfig)) target.Provider {
	whole := target.Reference()
	p := whole
	p.OpenLocation = func(ctx context.Context, c target.StoreConfig) (spi.LocationStore, error) {
		change(&c)
		return whole.OpenLocation(ctx, c)
	}
	p.OpenRelocation = func(ctx context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
		change(&c)
		return whole.OpenRelocation(ctx, c)
	}
	return p
}

// connectsFirst is the reference with a connection that is made, by a first
// command, before the clock of the operation starts.
func connectsFirst() target.Provider {
	p := target.Reference()
	p.OpenRelocation = func(_ context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
		o, err := target.ReferenceOptions(c)
		if err != nil {
			return nil, err
		}
		slow := o.OperationTimeout
		o.OperationTimeout *= 2
		o.Redis.Dialer = func(_ context.Context, network, addr string) (net.Conn, error) {
			return net.DialTimeout(network, addr, slow)
		}
		return reference.OpenRelocation(o)
	}
	return p
}
