package mutants

import (
	"context"
	"strings"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// lifetimeMutants break disposal, sharing and what is public (L7, L10, R7, R9).
func lifetimeMutants() []Mutant {
	return []Mutant{
		provided("lifetime/location-closes-all", "L7.dispose", "Closing one store closes every store of the provider.",
			closesAll),
		provided("lifetime/relocation-closes-all", "R7.shared", "Closing one store closes every store of the provider.",
			closesAll),
		provided("lifetime/location-closes-once", "L7.dispose", "Closing a store twice fails.", closesOnce),
		provided("lifetime/relocation-closes-once", "R7.shared", "Closing a store twice fails.", closesOnce),
		onLocation("lifetime/values-end-with-the-store", "L3.value-durable",
			"Values that a store has put are deleted when it is closed.", func(l *location) {
				var mu sync.Mutex
				var keys []spi.Mutation
				l.write = changeApplied(l, func(_ spi.WriteRequest, a *spi.Applied) {
					mu.Lock()
					defer mu.Unlock()
					for _, p := range a.PutVersions {
						keys = append(keys, spi.Delete{Key: p.Key})
					}
				})
				l.close = func() error {
					mu.Lock()
					defer mu.Unlock()
					for _, k := range keys {
						_, _ = l.LocationStore.Write(context.Background(), spi.WriteRequest{Mutations: []spi.Mutation{k}})
					}
					keys = nil
					return l.LocationStore.Close()
				}
			}),
		onRelocation("lifetime/payloads-end-with-the-store", "R6.published",
			"Payloads that a store has put are deleted when it is closed.", func(r *relocation) {
				var mu sync.Mutex
				var refs []spi.Reference
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					mu.Lock()
					refs = append(refs, ref)
					mu.Unlock()
					return r.RelocationStore.Put(ctx, ref, p, ms)
				}
				r.close = func() error {
					mu.Lock()
					defer mu.Unlock()
					for _, ref := range refs {
						_ = r.RelocationStore.Delete(context.Background(), ref)
					}
					refs = nil
					return r.RelocationStore.Close()
				}
			}),
		provided("lifetime/location-leaks", "L7.release", "A store that is closed keeps its connections.", leaks),
		provided("lifetime/relocation-leaks", "R7.release", "A store that is closed keeps its connections.", leaks),
		provided("stores/one-kind-at-a-time", "L10.two-stores", "Opening a store of one kind closes those of the other kind.",
			oneKind),
		provided("stores/one-redis-only", "L10.two-stores", "Every store is opened on the Redis of the first one.", oneRedis),
		provided("stores/one-prefix-only", "L9.prefix R8.prefix",
			"Every store on a Redis has the key prefix of the first one there.", onePrefix),
		connected("stores/password-ignored", "The password is not sent.", func(c *redisenv.ConnInfo) { c.Password = "" }),
		connected("stores/user-ignored", "The user is not sent.", func(c *redisenv.ConnInfo) { c.Username = "" }),
		connected("stores/tls-ignored", "TLS is not spoken.", func(c *redisenv.ConnInfo) { c.TLS = false }),
		connected("stores/socket-ignored", "A unix socket is taken for a server on this host.", func(c *redisenv.ConnInfo) {
			if c.Host == "" {
				c.Host, c.Port = "127.0.0.1", 1
			}
		}),
		connected("stores/database-ignored", "Every store is opened on database 0.", func(c *redisenv.ConnInfo) { c.DB = 0 }),
		provided("surface/script-type", "R9.surface", "A type for scripts is public.", public("RelocationScripts")),
		provided("surface/move-history", "R9.surface", "An operation for the move history is public.",
			public("RedisRelocationStore.GetMoveHistory")),
		provided("surface/authority-type", "L10.surface", "A type for authority is public.", public("AuthorityRecord")),
		provided("surface/key-layout", "L10.surface", "A type for the key layout is public.", public("LocationKeyLayout")),
	}
}

// connected is a mutant that connects to another place than it was told.
func connected(id, title string, change func(*redisenv.ConnInfo)) Mutant {
	return provided(id, "L10.connection", title, func() targets.Provider {
		return configured(func(c targets.StoreConfig) targets.StoreConfig {
			change(&c.Redis)
			return c
		})
	})
}

func public(name string) func() targets.Provider {
	return func() targets.Provider {
		p := refprovider.New()
		p.Surface = func() []string { return []string{"RedisLocationStore", "RedisRelocationStore", name} }
		return p
	}
}

func closesAll() targets.Provider {
	var mu sync.Mutex
	opened := map[string][]func() error{} // by key prefix: cases run side by side
	closing := func(c targets.StoreConfig, close func() error) func() error {
		mu.Lock()
		defer mu.Unlock()
		opened[c.KeyPrefix] = append(opened[c.KeyPrefix], close)
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			for _, close := range opened[c.KeyPrefix] {
				_ = close()
			}
			delete(opened, c.KeyPrefix)
			return nil
		}
	}
	return hooked(refprovider.New(),
		func(l *location) { l.close = closing(l.config, l.LocationStore.Close) },
		func(r *relocation) { r.close = closing(r.config, r.RelocationStore.Close) })
}

func closesOnce() targets.Provider {
	once := func(close func() error) func() error {
		var mu sync.Mutex
		closed := false
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			if closed {
				return failure("already closed")
			}
			closed = true
			return close()
		}
	}
	return hooked(refprovider.New(),
		func(l *location) { l.close = once(l.LocationStore.Close) },
		func(r *relocation) { r.close = once(r.RelocationStore.Close) })
}

// configured is the reference with changed configurations of its stores.
func configured(change func(targets.StoreConfig) targets.StoreConfig) targets.Provider {
	p := refprovider.New()
	openLocation, openRelocation := p.OpenLocation, p.OpenRelocation
	p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
		return openLocation(ctx, change(c))
	}
	p.OpenRelocation = func(ctx context.Context, c targets.StoreConfig) (spi.RelocationStore, error) {
		return openRelocation(ctx, change(c))
	}
	return p
}

// oneRedis opens the stores of a key prefix where the first of them was opened.
func oneRedis() targets.Provider {
	var mu sync.Mutex
	first := map[string]targets.StoreConfig{}
	return configured(func(c targets.StoreConfig) targets.StoreConfig {
		mu.Lock()
		defer mu.Unlock()
		if f, ok := first[c.KeyPrefix]; ok {
			c.Redis = f.Redis
		} else {
			first[c.KeyPrefix] = c
		}
		return c
	})
}

// leaks never closes what it opened.
func leaks() targets.Provider {
	nothing := func() error { return nil }
	return hooked(refprovider.New(), func(l *location) { l.close = nothing }, func(r *relocation) { r.close = nothing })
}

// oneKind closes the last Location Store of a case when a Relocation Store is
// opened, and the other way round.
func oneKind() targets.Provider {
	var mu sync.Mutex
	type last struct{ location, relocation func() error }
	opened := map[string]*last{} // by case
	of := func(c targets.StoreConfig) *last {
		run := caseOf(c.KeyPrefix)
		if opened[run] == nil {
			opened[run] = &last{}
		}
		return opened[run]
	}
	return hooked(refprovider.New(), func(l *location) {
		mu.Lock()
		defer mu.Unlock()
		o := of(l.config)
		if o.location = l.LocationStore.Close; o.relocation != nil {
			_ = o.relocation()
		}
	}, func(r *relocation) {
		mu.Lock()
		defer mu.Unlock()
		o := of(r.config)
		if o.relocation = r.RelocationStore.Close; o.location != nil {
			_ = o.location()
		}
	})
}

// caseOf is what all key prefixes of a case begin with.
func caseOf(prefix string) string {
	parts := strings.SplitN(prefix, "-", 4)
	return strings.Join(parts[:min(3, len(parts))], "-")
}
