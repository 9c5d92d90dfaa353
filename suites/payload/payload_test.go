package payload_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/payload"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

func TestReferencePasses(t *testing.T) {
	suitetest.Passes(t, suitetest.Env(t), target.InProcess(target.Reference()), payload.Cases())
}

// Each sabotage of the reference's store is caught by the case, although the
// framework's side of chunks is right.
func TestCatchesSabotage(t *testing.T) {
	env, cases := suitetest.Env(t), payload.Cases()
	const (
		compare = " and call('GET', key) == payload"
		set     = "call('SET', key, payload,"
		get     = "call('GET', KEYS[1])"
		arm     = "call('PEXPIREAT', KEYS[1], text(expires))"
		until   = "now + tonumber(ARGV[2])"
	)
	for _, s := range []struct {
		name            string
		target          target.Target
		id, requirement string
	}{
		{"alreadyStored on different bytes", script("put", compare, ""), "store-order/taken-chunk", "R4.put-compare"},
		{"alreadyStored on a different index", script("put", compare, ""), "store-order/taken-index", "R4.put-compare"},
		{"the checksum is not compared", script("put", "call('GET', key) == payload", "call('GETRANGE', key, 0, -5) == string.sub(payload, 1, -5)"), "store-order/taken-chunk", "R4.put-compare"},
		{"conflict on the same bytes", script("put", "call('STRLEN', key) == #payload", "false"), "store-order/completed", "P3.store-order"},
		{"a conflict overwrites", script("put", "return {'conflict', text(now)}", "call('SET', key, payload, 'KEEPTTL') return {'conflict', text(now)}"), "store-order/taken-index", "R4.put-keeps"},
		{"writes later", wrapped(writesLater), "store-order/visible", "P3.store-order"},
		{"renew does nothing", script("renew", arm, ""), "renew/extends", "P3.renew"},
		{"renew does nothing but say so", script("renew", arm, ""), "renew/keeps-alive", "P3.renew"},
		{"renew shortens", script("renew", "now + tonumber(ARGV[1])", "now + tonumber(ARGV[1]) / 2"), "renew/extends", "P3.renew"},
		{"renew shortens, when due", script("renew", "now + tonumber(ARGV[1])", "now + tonumber(ARGV[1]) / 2"), "renew/due", "P3.defaults"},
		{"a clock that is an hour late", wrapped(lateClock), "renew/due", "P3.defaults"},
		{"retention in seconds", script("put", until, "now + tonumber(ARGV[2]) * 1000"), "orphan/chunks", "R6.orphan"},
		{"retention in seconds, with an index", script("put", until, "now + tonumber(ARGV[2]) * 1000"), "orphan/payload", "R6.orphan"},
		{"retention is at least a second", script("put", until, "now + math.max(1000, tonumber(ARGV[2]))"), "lost/expired-chunk", "P3.data-lost"},
		{"small payloads expire early", script("put", until, "now + (#payload < 60 and 3600000 or tonumber(ARGV[2]))"), "defaults/retention", "P3.defaults"},
		{"indexes expire early", script("put", until, "now + (string.sub(payload, 1, 4) == 'ZLTM' and 3600000 or tonumber(ARGV[2]))"), "defaults/retention", "P3.defaults"},
		{"read cuts at 1,000,000 bytes", script("read", get, "call('GETRANGE', KEYS[1], 0, 999999)"), "round-trip/1-mib-chunks", "P3.bounds"},
		{"read cuts at 64 MiB", script("read", get, "call('GETRANGE', KEYS[1], 0, 67108863)"), "bounds/largest-chunk", "P3.bounds"},
		{"64 MiB with the envelope are refused", wrapped(bounded(spi.MaxChunkBytes)), "bounds/largest-chunk", "P3.bounds"},
		{"64 KiB are the most", wrapped(bounded(1 << 16)), "bounds/most-chunks", "R4.put"},
		{"read alters a bit", wrapped(altersBit), "round-trip/many-chunks", "P3.bounds"},
		{"read answers another reader", wrapped(mixesReads), "join-order/scattered", "P3.join-order"},
		{"read answers another payload's reader", wrapped(mixesReads), "join-order/together", "P3.join-order"},
		{"one buffer for all", wrapped(sharesBuffer), "round-trip/side-by-side", "P3.join-order"},
		{"nothing is empty", wrapped(emptyMissing), "lost/empty-chunk", "P3.data-lost"},
		{"delete leaves", script("delete", "call('DEL', KEYS[1])", ""), "delete/whole", "R4.delete"},
		{"delete takes the same bytes elsewhere too", wrapped(deletesBeside), "delete/whole", "R3.no-dedupe"},
		{"reads are cached", wrapped(cachesReads), "lost/behind-the-target", "P3.data-lost"},
		{"reads are cached while others write", wrapped(cachesReads), "lost/altered-chunk", "P3.data-lost"},
		{"reads are cached while others delete", wrapped(cachesReads), "lost/missing-index", "P3.data-lost"},
		{"a header of its own", header(), "golden/stored", "P3.frame"},
		{"a header of its own, planted", header(), "golden/planted", "P3.frame"},
		{"a header of its own, beside the reference", header(), "interop/from-target", "R8.interop-read"},
		{"bytes as text", script("put", set, "payload = string.gsub(payload, '[\\128-\\255]', '?') "+set), "golden/vectors", "P3.frame"},
		{"references are hashed", suitetest.Sabotaged(suitetest.Edit{New: "for i, name in ipairs(KEYS) do KEYS[i] = string.gsub(name, 'blob:(.*)$', function(r) return 'blob:' .. redis.sha1hex(r) end) end\n"}), "interop/from-reference", "R8.interop-read"},
	} {
		t.Run(s.name, func(t *testing.T) {
			suitetest.Catches(t, env, s.target, cases, "payload/"+s.id, s.requirement)
		})
	}
}

func script(operation, old, new string) target.Target {
	return suitetest.Sabotaged(suitetest.Edit{Script: "relocation_" + operation, Old: old, New: new})
}

// header stores four bytes before each payload and takes them off again.
func header() target.Target {
	return suitetest.Sabotaged(
		suitetest.Edit{Script: "relocation_put", New: "ARGV[1] = 'HEAD' .. ARGV[1]\n"},
		suitetest.Edit{Script: "relocation_read", Old: "call('GET', KEYS[1])", New: "call('GETRANGE', KEYS[1], 4, -1)"})
}

// faulty is a Relocation Store of which some operations are replaced.
type faulty struct {
	spi.RelocationStore
	put    func(context.Context, spi.Reference, []byte, spi.Retention) (spi.BlobPutResult, error)
	read   func(context.Context, spi.Reference) (spi.BlobReadResult, error)
	delete func(context.Context, spi.Reference) error
}

func (f *faulty) Put(ctx context.Context, ref spi.Reference, b []byte, r spi.Retention) (spi.BlobPutResult, error) {
	return f.put(ctx, ref, b, r)
}
func (f *faulty) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	return f.read(ctx, ref)
}
func (f *faulty) Delete(ctx context.Context, ref spi.Reference) error { return f.delete(ctx, ref) }

// wrapped is the reference with faults in front of its Relocation Store.
func wrapped(change func(*faulty)) target.Target {
	p := target.Reference()
	p.OpenRelocation = func(_ context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
		o, err := target.ReferenceOptions(c)
		if err != nil {
			return nil, err
		}
		s, err := reference.OpenRelocation(o)
		if err != nil {
			return nil, err
		}
		f := &faulty{RelocationStore: s, put: s.Put, read: s.Read, delete: s.Delete}
		change(f)
		return f, nil
	}
	return target.InProcess(p)
}

// found changes what Read finds.
func found(f *faulty, change func(spi.BlobFound) spi.BlobReadResult) {
	f.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
		r, err := f.RelocationStore.Read(ctx, ref)
		if b, ok := r.(spi.BlobFound); ok {
			return change(b), nil
		}
		return r, err
	}
}

func altersBit(f *faulty) {
	found(f, func(b spi.BlobFound) spi.BlobReadResult {
		if len(b.Bytes) > 20 {
			b.Bytes[20] ^= 1
		}
		return b
	})
}

func lateClock(f *faulty) {
	found(f, func(b spi.BlobFound) spi.BlobReadResult {
		b.StoreNow -= 3600_000
		return b
	})
}

func emptyMissing(f *faulty) {
	found(f, func(b spi.BlobFound) spi.BlobReadResult {
		if len(b.Bytes) == 0 {
			return spi.Missing{StoreNow: b.StoreNow}
		}
		return b
	})
}

// bounded refuses larger payloads.
func bounded(most int) func(*faulty) {
	return func(f *faulty) {
		f.put = func(ctx context.Context, ref spi.Reference, b []byte, r spi.Retention) (spi.BlobPutResult, error) {
			if len(b) > most {
				return nil, spi.Argument("at most %d bytes", most)
			}
			return f.RelocationStore.Put(ctx, ref, b, r)
		}
	}
}

// writesLater answers a Put at once, and its own reads out of what it has still
// to write.
func writesLater(f *faulty) {
	var mu sync.Mutex
	pending := map[spi.Reference]spi.BlobFound{}
	f.put = func(_ context.Context, ref spi.Reference, b []byte, r spi.Retention) (spi.BlobPutResult, error) {
		now := spi.Millis(time.Now().UnixMilli())
		b = bytes.Clone(b)
		mu.Lock()
		defer mu.Unlock()
		pending[ref] = spi.BlobFound{Bytes: b, StoreNow: now, ExpiresAt: now + spi.Millis(r)}
		time.AfterFunc(50*time.Millisecond, func() { _, _ = f.RelocationStore.Put(context.Background(), ref, b, r) })
		return spi.Stored{StoreNow: now, ExpiresAt: now + spi.Millis(r)}, nil
	}
	f.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
		mu.Lock()
		defer mu.Unlock()
		if b, ok := pending[ref]; ok {
			b.Bytes = bytes.Clone(b.Bytes)
			return b, nil
		}
		return f.RelocationStore.Read(ctx, ref)
	}
}

// mixesReads answers readers at the same time with what the last of them wants.
func mixesReads(f *faulty) {
	var last atomic.Value
	f.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
		last.Store(ref)
		time.Sleep(time.Millisecond)
		return f.RelocationStore.Read(ctx, last.Load().(spi.Reference))
	}
}

// sharesBuffer sends every payload out of one buffer.
func sharesBuffer(f *faulty) {
	var mu sync.Mutex
	var buffer []byte
	f.put = func(ctx context.Context, ref spi.Reference, b []byte, r spi.Retention) (spi.BlobPutResult, error) {
		mu.Lock()
		buffer = bytes.Clone(b)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		sent := buffer
		mu.Unlock()
		return f.RelocationStore.Put(ctx, ref, sent, r)
	}
}

func cachesReads(f *faulty) {
	var cache sync.Map
	f.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
		if b, ok := cache.Load(ref); ok {
			return b.(spi.BlobReadResult), nil
		}
		r, err := f.RelocationStore.Read(ctx, ref)
		if b, ok := r.(spi.BlobFound); ok {
			b.Bytes = slices.Clone(b.Bytes)
			cache.Store(ref, b)
		}
		return r, err
	}
}

// deletesBeside deletes the payload "beside" with the payload "p".
func deletesBeside(f *faulty) {
	f.delete = func(ctx context.Context, ref spi.Reference) error {
		_ = f.RelocationStore.Delete(ctx, spi.Reference(strings.Replace(string(ref), "p/", "beside/", 1)))
		return f.RelocationStore.Delete(ctx, ref)
	}
}
