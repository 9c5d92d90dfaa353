package spi

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/result"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/target"
)

// sabotage is the reference, wrong in one way.
type sabotage struct {
	name     string
	provider func(*testing.T) target.Provider
	caught   []string       // by these cases, without spi/
	verdict  result.Verdict // how; "" is a failure
}

var sabotages = []sabotage{
	{"alreadyStored on different bytes", script("relocation_put", " and call('GET', key) == payload", ""),
		[]string{"put/compare", "buffers/relocation-input"}, ""},
	{"lengths are not compared", script("relocation_put", "call('STRLEN', key) == #payload and call('GET', key) == payload", "call('GETRANGE', key, 0, #payload - 1) == payload"),
		[]string{"put/compare"}, ""},
	{"the last byte is not compared", script("relocation_put", "call('GET', key) == payload", "call('GETRANGE', key, 0, -2) == string.sub(payload, 1, -2)"),
		[]string{"put/compare", "size/large-compare"}, ""},
	{"a conflict overwrites", script("relocation_put", "return {'conflict', text(now)}", "call('SET', key, payload, 'KEEPTTL') return {'conflict', text(now)}"),
		[]string{"put/keeps-bytes", "put/race-different"}, ""},
	{"renew without a new expiry", script("relocation_renew", "call('PEXPIREAT', KEYS[1], text(expires))", ""),
		[]string{"renew/extends", "renew/shortens", "renew/shorter-ends", "renew/keeps-alive"}, ""},
	{"renew never shortens", script("relocation_renew", "text(expires))", "text(expires), 'GT')"),
		[]string{"renew/shortens", "renew/shorter-ends"}, ""},
	{"renew adds to the old expiry", script("relocation_renew", "expires = now + tonumber(ARGV[1])", "expires = expires + tonumber(ARGV[1])"),
		[]string{"renew/extends", "renew/repeats"}, ""},
	{"a payload's retention in seconds", script("relocation_put", "now + tonumber(ARGV[2])", "now + tonumber(ARGV[2]) * 1000"),
		[]string{"put/results", "relocation/orphan", "put/after-expiry"}, ""},
	{"reading extends", script("relocation_read", "return {'found'", "expires = expires + 3600000 call('PEXPIREAT', KEYS[1], text(expires)) return {'found'"),
		[]string{"relocation/read"}, ""},
	{"a value's retention in seconds", script("location_write", "expires = now + retention", "expires = now + retention * 1000"),
		[]string{"expiry/expires-at", "expiry/overwrite-shortens"}, ""},
	{"a condition does not see expiry", script("location_write", "local exists = current and live(current, now)", "local exists = current and not current.tombstone"),
		[]string{"expiry/frees-missing-condition", "expiry/fails-version-condition"}, ""},
	{"an overwrite keeps the expiry", script("location_write", "    if retention ~= 0 then", "    local old = call('ZREVRANGE', record, 0, 0)[1]\n    old = old and parse(old, key)\n    if old and old.expires > 0 then expires = old.expires elseif retention ~= 0 then"),
		[]string{"expiry/overwrite-durable", "expiry/overwrite-extends"}, ""},
	{"every value has an expiry", script("location_write", "if retention ~= 0 then", "expires = now + 3600000 if retention ~= 0 then"),
		[]string{"expiry/durable", "expiry/overwrite-durable", "stores/one-redis"}, ""},
	{"a stale clock", script("location_write", "local now = clock()", "local now = clock() - 20"), []string{"expiry/store-now"}, ""},
	{"a payload's stale clock", script("relocation_renew", "local now = clock()", "local now = clock() - 20"), []string{"relocation/store-now"}, ""},

	{"repeated put re-arms", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			res, err := r.RelocationStore.Put(ctx, ref, p, ms)
			if a, ok := res.(spi.AlreadyStored); ok {
				n, err := r.RelocationStore.Renew(ctx, ref, ms)
				a.ExpiresAt = n.(spi.Renewed).ExpiresAt
				return a, err
			}
			return res, err
		}
	}), []string{"put/keeps-retention"}, ""},
	{"repeated put extends", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			res, err := r.RelocationStore.Put(ctx, ref, p, ms)
			if _, ok := res.(spi.AlreadyStored); ok && ms > hour {
				_, err = r.RelocationStore.Renew(ctx, ref, ms)
			}
			return res, err
		}
	}), []string{"put/leaves-retention"}, result.Advisory},
	{"put looks before it stores", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			if found, _ := r.RelocationStore.Read(ctx, ref); found != nil {
				if _, missing := found.(spi.Missing); missing {
					time.Sleep(time.Millisecond) // a provider on a slow network has as much between two commands
					_ = r.RelocationStore.Delete(ctx, ref)
				}
			}
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
	}), []string{"put/race-different", "put/race-same"}, ""},
	{"limit without the envelope", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			if len(p) > spi.MaxChunkBytes {
				return nil, spi.Argument("too large")
			}
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
	}), []string{"size/largest"}, ""},
	{"no limit", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			return r.RelocationStore.Put(ctx, ref, p[:min(len(p), spi.MaxBlobBytes)], ms)
		}
	}), []string{"size/too-large"}, ""},
	{"empty payload refused", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			if len(p) == 0 {
				return nil, spi.Argument("empty")
			}
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
	}), []string{"relocation/any-bytes"}, ""},
	{"fraction floored", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			return r.RelocationStore.Put(ctx, ref, p, spi.Retention(math.Floor(float64(ms))))
		}
	}), []string{"blob-retention/below-one"}, ""},
	{"long retention clipped", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			return r.RelocationStore.Put(ctx, ref, p, min(ms, math.MaxInt32))
		}
		r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
			return r.RelocationStore.Renew(ctx, ref, min(ms, math.MaxInt32))
		}
	}), []string{"blob-retention/put-1e14", "blob-retention/put-9.2e18", "blob-retention/renew-2-to-53-less-1", "blob-retention/renew-1e18"}, ""},
	{"negative retention taken as short", relocation(func(r *broken) {
		r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
			return r.RelocationStore.Renew(ctx, ref, max(ms, 1))
		}
	}), []string{"arguments/relocation-retention"}, ""},
	{"NUL in a reference refused", renamed(func(ref string) (string, error) {
		if strings.ContainsRune(ref, 0) {
			return "", spi.Argument("NUL")
		}
		return ref, nil
	}), []string{"relocation/references"}, ""},
	{"references cut at NUL", renamed(func(ref string) (string, error) {
		before, _, _ := strings.Cut(ref, "\x00")
		return before + strings.Repeat("n", min(1, len(ref)-len(before))), nil
	}), []string{"relocation/references"}, ""},
	{"references in lower case", renamed(func(ref string) (string, error) { return strings.ToLower(ref), nil }), []string{"relocation/references"}, ""},
	{"references counted in characters", renamed(func(ref string) (string, error) {
		if len([]rune(ref)) <= spi.MaxReferenceBytes {
			ref = ref[:min(len(ref), spi.MaxReferenceBytes)]
		}
		return strings.ToValidUTF8(ref, ""), nil
	}), []string{"arguments/relocation-references", "arguments/relocation-reference-text"}, ""},
	{"delete fails when absent", relocation(func(r *broken) {
		r.delete = func(ctx context.Context, ref spi.Reference) error {
			if res, err := r.RelocationStore.Read(ctx, ref); err == nil {
				if _, missing := res.(spi.Missing); missing {
					return &spi.Error{Kind: spi.KindStoreFailure, Message: "absent"}
				}
			}
			return r.RelocationStore.Delete(ctx, ref)
		}
	}), []string{"relocation/delete"}, ""},
	{"renew brings back", relocation(func(r *broken) {
		r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
			_, _ = r.RelocationStore.Put(ctx, ref, nil, ms)
			return r.RelocationStore.Renew(ctx, ref, ms)
		}
	}), []string{"renew/missing"}, ""},
	{"payloads shared by content", relocation(func(r *broken) {
		r.delete = func(ctx context.Context, ref spi.Reference) error {
			for _, other := range []spi.Reference{"a", "b", "c"} {
				_ = r.RelocationStore.Delete(ctx, other)
			}
			return r.RelocationStore.Delete(ctx, ref)
		}
	}), []string{"relocation/no-dedupe"}, ""},
	{"inputs kept without a copy", relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			r.cache.Store(ref, p)
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
		r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
			res, err := r.RelocationStore.Read(ctx, ref)
			if f, ok := res.(spi.BlobFound); ok {
				if p, ok := r.cache.Load(ref); ok {
					f.Bytes = p.([]byte)
				}
				return f, err
			}
			return res, err
		}
	}), []string{"buffers/relocation-input"}, ""},
	{"one result buffer for all", relocation(func(r *broken) {
		buffer := make([]byte, 1<<20)
		r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
			res, err := r.RelocationStore.Read(ctx, ref)
			if f, ok := res.(spi.BlobFound); ok {
				f.Bytes = buffer[:copy(buffer, f.Bytes)]
				return f, err
			}
			return res, err
		}
	}), []string{"buffers/relocation-result"}, ""},
	{"arguments checked after I/O", lookFirst, []string{"arguments/location-keys", "arguments/location-value", "arguments/location-batch",
		"arguments/location-retention", "arguments/location-scan", "arguments/relocation-references", "arguments/relocation-retention"}, ""},
	{"tokens ignored", deafToTokens, []string{"cancelled/location", "cancelled/relocation"}, ""},
	{"values kept without a copy", location(func(l *brokenLocation) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			for _, m := range w.Mutations {
				if p, ok := m.(spi.Put); ok {
					l.cache.Store(p.Key, p.Bytes)
				}
			}
			return l.LocationStore.Write(ctx, w)
		}
		l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
			res, err := l.LocationStore.Read(ctx, key)
			if f, ok := res.(spi.Found); ok {
				if b, ok := l.cache.Load(key); ok {
					f.Value.Bytes = b.([]byte)
				}
				return f, err
			}
			return res, err
		}
	}), []string{"buffers/location-input", "buffers/conflict-input"}, ""},
	{"one value buffer for all", location(func(l *brokenLocation) {
		buffer := make([]byte, 1<<20)
		l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
			res, err := l.LocationStore.Read(ctx, key)
			if f, ok := res.(spi.Found); ok {
				f.Value.Bytes = buffer[:copy(buffer, f.Value.Bytes)]
				return f, err
			}
			return res, err
		}
	}), []string{"buffers/location-result"}, ""},
	{"found until a second after expiry", location(func(l *brokenLocation) {
		var last sync.Map
		l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
			res, err := l.LocationStore.Read(ctx, key)
			if f, ok := res.(spi.Found); ok {
				last.Store(key, f)
			} else if f, ok := last.Load(key); ok && err == nil {
				return f.(spi.Found), nil
			}
			return res, err
		}
	}), []string{"expiry/on-time"}, ""},
	{"closing one closes all", closesAll, []string{"lifetime/shared-locations", "lifetime/shared-relocations", "lifetime/shared-by-both",
		"lifetime/shared-by-both-reversed", "lifetime/close-twice-location", "lifetime/close-unused", "lifetime/close-unused-relocation"}, ""},
	{"closing keeps the connections", leaks, []string{"lifetime/connections-released", "lifetime/connections-released-relocation"}, result.Advisory},
	{"closing twice fails", closesOnce, []string{"lifetime/close-twice-location", "lifetime/close-twice-relocation"}, ""},
	{"stores know one Redis only", oneRedis, []string{"stores/two-redis"}, ""},
	{"a script type is public", func(*testing.T) target.Provider {
		p := target.Reference()
		p.Surface = func() []string { return []string{"RedisLocationStore", "RelocationScripts"} }
		return p
	}, []string{"surface/location", "surface/relocation"}, ""},
}

// script replaces a part of one script, which must be there.
func script(name, old, new string) func(*testing.T) target.Provider {
	return func(t *testing.T) target.Provider {
		rewrite := func(script, source string) string {
			if script != name {
				return source
			}
			if strings.Count(source, old) != 1 {
				t.Errorf("the script %s holds %q %d times, want once", name, old, strings.Count(source, old))
			}
			return strings.Replace(source, old, new, 1)
		}
		p := target.Reference()
		p.OpenLocation = func(_ context.Context, c target.StoreConfig) (spi.LocationStore, error) {
			o, err := target.ReferenceOptions(c)
			if err != nil {
				return nil, err
			}
			o.Rewrite = rewrite
			return reference.OpenLocation(o)
		}
		p.OpenRelocation = func(_ context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
			o, err := target.ReferenceOptions(c)
			if err != nil {
				return nil, err
			}
			o.Rewrite = rewrite
			return reference.OpenRelocation(o)
		}
		return p
	}
}

// broken is a Relocation Store of which single operations are replaced.
type broken struct {
	spi.RelocationStore
	cache  sync.Map
	put    func(context.Context, spi.Reference, []byte, spi.Retention) (spi.BlobPutResult, error)
	read   func(context.Context, spi.Reference) (spi.BlobReadResult, error)
	renew  func(context.Context, spi.Reference, spi.Retention) (spi.BlobRenewResult, error)
	delete func(context.Context, spi.Reference) error
	close  func() error
}

func (b *broken) Put(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
	return b.put(ctx, ref, p, ms)
}
func (b *broken) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	return b.read(ctx, ref)
}
func (b *broken) Renew(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
	return b.renew(ctx, ref, ms)
}
func (b *broken) Delete(ctx context.Context, ref spi.Reference) error { return b.delete(ctx, ref) }
func (b *broken) Close() error                                        { return b.close() }

func breakRelocation(s spi.RelocationStore, change func(*broken)) *broken {
	b := &broken{RelocationStore: s, put: s.Put, read: s.Read, renew: s.Renew, delete: s.Delete, close: s.Close}
	change(b)
	return b
}

// brokenLocation is broken for a Location Store.
type brokenLocation struct {
	spi.LocationStore
	cache sync.Map
	read  func(context.Context, spi.Key) (spi.ReadResult, error)
	write func(context.Context, spi.WriteRequest) (spi.WriteResult, error)
	scan  func(context.Context, spi.ScanRequest) (spi.ScanResult, error)
	close func() error
}

func (b *brokenLocation) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	return b.read(ctx, key)
}
func (b *brokenLocation) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	return b.write(ctx, w)
}
func (b *brokenLocation) Scan(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
	return b.scan(ctx, r)
}
func (b *brokenLocation) Close() error { return b.close() }

func breakLocation(s spi.LocationStore, change func(*brokenLocation)) *brokenLocation {
	b := &brokenLocation{LocationStore: s, read: s.Read, write: s.Write, scan: s.Scan, close: s.Close}
	change(b)
	return b
}

// both breaks the stores that the reference opens; the reference itself sees
// its own store as the one to share with.
func both(onLocation func(target.StoreConfig, *brokenLocation), onRelocation func(target.StoreConfig, *broken)) target.Provider {
	p := target.Reference()
	openLocation, openRelocation := p.OpenLocation, p.OpenRelocation
	unwrap := func(c target.StoreConfig) target.StoreConfig {
		switch s := c.Share.(type) {
		case *broken:
			c.Share = s.RelocationStore
		case *brokenLocation:
			c.Share = s.LocationStore
		}
		return c
	}
	p.OpenLocation = func(ctx context.Context, c target.StoreConfig) (spi.LocationStore, error) {
		s, err := openLocation(ctx, unwrap(c))
		if err != nil {
			return nil, err
		}
		return breakLocation(s, func(l *brokenLocation) { onLocation(c, l) }), nil
	}
	p.OpenRelocation = func(ctx context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
		s, err := openRelocation(ctx, unwrap(c))
		if err != nil {
			return nil, err
		}
		return breakRelocation(s, func(r *broken) { onRelocation(c, r) }), nil
	}
	return p
}

func relocation(change func(*broken)) func(*testing.T) target.Provider {
	return func(*testing.T) target.Provider {
		return both(func(target.StoreConfig, *brokenLocation) {}, func(_ target.StoreConfig, r *broken) { change(r) })
	}
}

func location(change func(*brokenLocation)) func(*testing.T) target.Provider {
	return func(*testing.T) target.Provider {
		return both(func(_ target.StoreConfig, l *brokenLocation) { change(l) }, func(target.StoreConfig, *broken) {})
	}
}

// renamed changes the references that Put and Read are given.
func renamed(change func(string) (string, error)) func(*testing.T) target.Provider {
	return relocation(func(r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			changed, err := change(string(ref))
			if err != nil {
				return nil, err
			}
			return r.RelocationStore.Put(ctx, spi.Reference(changed), p, ms)
		}
		r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
			changed, err := change(string(ref))
			if err != nil {
				return nil, err
			}
			return r.RelocationStore.Read(ctx, spi.Reference(changed))
		}
	})
}

// lookFirst goes to Redis before it looks at the arguments.
func lookFirst(*testing.T) target.Provider {
	return both(func(_ target.StoreConfig, l *brokenLocation) {
		l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
			_, _ = l.LocationStore.Read(ctx, "look")
			return l.LocationStore.Read(ctx, key)
		}
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			_, _ = l.LocationStore.Read(ctx, "look")
			return l.LocationStore.Write(ctx, w)
		}
		l.scan = func(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
			_, _ = l.LocationStore.Read(ctx, "look")
			return l.LocationStore.Scan(ctx, r)
		}
	}, func(_ target.StoreConfig, r *broken) {
		r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
			_, _ = r.RelocationStore.Read(ctx, "look")
			return r.RelocationStore.Read(ctx, ref)
		}
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			_, _ = r.RelocationStore.Read(ctx, "look")
			return r.RelocationStore.Put(ctx, ref, p, ms)
		}
	})
}

// deafToTokens starts operations of which the token is cancelled.
func deafToTokens(*testing.T) target.Provider {
	return both(func(_ target.StoreConfig, l *brokenLocation) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			return l.LocationStore.Write(context.WithoutCancel(ctx), w)
		}
	}, func(_ target.StoreConfig, r *broken) {
		r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
			return r.RelocationStore.Put(context.WithoutCancel(ctx), ref, p, ms)
		}
	})
}

// closesAll closes every store that it opened on a Redis with the first of
// them that is closed.
func closesAll(*testing.T) target.Provider {
	var mu sync.Mutex
	var opened []func() error
	closing := func(c func() error) func() error {
		mu.Lock()
		defer mu.Unlock()
		opened = append(opened, c)
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range opened {
				_ = c()
			}
			opened = nil
			return nil
		}
	}
	return both(
		func(_ target.StoreConfig, l *brokenLocation) { l.close = closing(l.LocationStore.Close) },
		func(_ target.StoreConfig, r *broken) { r.close = closing(r.RelocationStore.Close) })
}

// leaks closes nothing.
func leaks(*testing.T) target.Provider {
	nothing := func() error { return nil }
	return both(func(_ target.StoreConfig, l *brokenLocation) { l.close = nothing },
		func(_ target.StoreConfig, r *broken) { r.close = nothing })
}

// closesOnce fails to close what is closed already.
func closesOnce(*testing.T) target.Provider {
	once := func(c func() error) func() error {
		var closed bool
		return func() error {
			if closed {
				return &spi.Error{Kind: spi.KindStoreFailure, Message: "already closed"}
			}
			closed = true
			return c()
		}
	}
	return both(
		func(_ target.StoreConfig, l *brokenLocation) { l.close = once(l.LocationStore.Close) },
		func(_ target.StoreConfig, r *broken) { r.close = once(r.RelocationStore.Close) })
}

// oneRedis opens every store where the first one was.
func oneRedis(*testing.T) target.Provider {
	p := target.Reference()
	openLocation, openRelocation := p.OpenLocation, p.OpenRelocation
	var mu sync.Mutex
	var first *target.StoreConfig
	fixed := func(c target.StoreConfig) target.StoreConfig {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = &c
		}
		c.Redis = first.Redis
		return c
	}
	p.OpenLocation = func(ctx context.Context, c target.StoreConfig) (spi.LocationStore, error) {
		return openLocation(ctx, fixed(c))
	}
	p.OpenRelocation = func(ctx context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
		return openRelocation(ctx, fixed(c))
	}
	return p
}
