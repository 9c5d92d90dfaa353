package mutants

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// chunkMutants are Relocation Stores over which the framework's payloads in
// chunks go wrong although the framework is right (P3).
func chunkMutants() []Mutant {
	const (
		set   = "call('SET', key, payload,"
		get   = "call('GET', KEYS[1])"
		until = "now + tonumber(ARGV[2])"
	)
	header := []edit{{script: "relocation_put", new: "ARGV[1] = 'HEAD' .. ARGV[1]\n"},
		onGet(get, "call('GETRANGE', KEYS[1], 4, -1)")}
	// A frame and an index have a magic of their own.
	isIndex := "string.sub(payload, 1, 4) == 'ZLTM'"
	return []Mutant{
		script("chunk/header", "P3.frame", "A header stands before a chunk in Redis.", header...),
		script("chunk/as-text", "P3.frame", "Bytes of a chunk beyond ASCII are replaced.",
			onPut(set, "payload = string.gsub(payload, '[\\128-\\255]', '?') "+set)),
		script("chunk/cut-in-reading", "P3.frame", "A read ends after 1,000,000 bytes.",
			onGet(get, "call('GETRANGE', KEYS[1], 0, 999999)")),
		script("chunk/index-header", "P3.index", "A header stands before an index in Redis.", header...),
		script("chunk/index-little-endian", "P3.index", "The checksum of an index is turned round in Redis and back in reading.",
			onPut(set, "if "+isIndex+" then payload = string.sub(payload, 1, -5) .. string.reverse(string.sub(payload, -4)) end "+
				set),
			onGet("return {'found', text(now), text(expires), "+get+"}",
				"local payload = "+get+" if "+isIndex+" then payload = string.sub(payload, 1, -5) .. "+
					"string.reverse(string.sub(payload, -4)) end return {'found', text(now), text(expires), payload}")),
		payloads("chunk/64-kib", "P3.index P3.frame", "Payloads of more than 64 KiB are refused.", atMost(64<<10)),
		payloads("chunk/64-mib", "P3.bounds", "A chunk of 64 MiB with its frame is refused.", atMost(spi.MaxChunkBytes)),
		script("chunk/cut-at-64-mib", "P3.bounds", "A read ends after 64 MiB.",
			onGet(get, "call('GETRANGE', KEYS[1], 0, 67108863)")),
		onRelocation("chunk/bit-altered", "P3.bounds", "A bit is altered in reading.", func(r *relocation) {
			r.read = changeBlob(r, func(f *spi.BlobFound) {
				if len(f.Bytes) > 20 {
					f.Bytes[20] ^= 1
				}
			})
		}),
		script("chunk/any-bytes-already-stored", "R4.put-compare",
			"Put answers AlreadyStored for other bytes of the same length.", onPut(" and call('GET', key) == payload", "")),
		script("chunk/same-bytes-conflict", "P3.store-order", "Put answers Conflict for the same bytes.",
			onPut("call('STRLEN', key) == #payload", "false")),
		onRelocation("chunk/stored-later", "P3.store-order", "A Put is answered before it is carried out.", storedLater),
		onRelocation("chunk/cached", "P3.data-lost", "A chunk that was read once is answered from a cache.", cachedChunks),
		script("chunk/at-least-a-second", "P3.data-lost", "A retention is at least a second.",
			onPut(until, "now + math.max(1000, tonumber(ARGV[2]))")),
		script("chunk/kept-too-long", "P3.data-lost", "A retention is taken for seconds.",
			onPut(until, "now + tonumber(ARGV[2]) * 1000")),
		onRelocation("chunk/empty-is-missing", "P3.data-lost", "An empty chunk reads as Missing.", func(r *relocation) {
			r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
				result, err := r.RelocationStore.Read(ctx, ref)
				if f, ok := result.(spi.BlobFound); ok && len(f.Bytes) == 0 {
					return spi.Missing{StoreNow: f.StoreNow}, err
				}
				return result, err
			}
		}),
		onRelocation("chunk/another-readers", "P3.join-order", "Readers at the same time are given what the last of them wants.",
			func(r *relocation) {
				var mu sync.Mutex
				var last spi.Reference
				r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
					mu.Lock()
					last = ref
					mu.Unlock()
					time.Sleep(time.Millisecond)
					mu.Lock()
					ref = last
					mu.Unlock()
					return r.RelocationStore.Read(ctx, ref)
				}
			}),
		onRelocation("chunk/one-send-buffer", "P3.join-order", "Payloads are sent out of one buffer.", func(r *relocation) {
			var mu sync.Mutex
			var buffer []byte
			r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
				mu.Lock()
				buffer = bytes.Clone(p)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				sent := buffer
				mu.Unlock()
				return r.RelocationStore.Put(ctx, ref, sent, ms)
			}
		}),
		script("chunk/renew-does-nothing", "P3.renew", "Renew sets no new expiry.",
			onRenew("call('PEXPIREAT', KEYS[1], text(expires))", "")),
		script("chunk/renew-halves", "P3.renew", "Renew extends by half of what it was asked for.",
			onRenew("now + tonumber(ARGV[1])", "now + tonumber(ARGV[1]) / 2")),
		script("chunk/due-late", "P3.defaults", "A renewal extends by half of what it was asked for.",
			onRenew("now + tonumber(ARGV[1])", "now + tonumber(ARGV[1]) / 2")),
		onRelocation("chunk/late-clock", "P3.defaults",
			"The time of a read is an hour late, so that a renewal seems not to be due.", func(r *relocation) {
				r.read = changeBlob(r, func(f *spi.BlobFound) { f.StoreNow -= 3600_000 })
			}),
		script("chunk/index-expires-early", "P3.defaults", "An index expires after an hour.",
			onPut(until, "now + ("+isIndex+" and 3600000 or tonumber(ARGV[2]))")),
	}
}

func atMost(n int) func([]byte) ([]byte, error) {
	return func(p []byte) ([]byte, error) {
		if len(p) > n {
			return nil, spi.Argument("at most %d bytes", n)
		}
		return p, nil
	}
}

// storedLater answers a Put at once, and its own reads out of what it has
// still to write.
func storedLater(r *relocation) {
	var mu sync.Mutex
	pending := map[spi.Reference]spi.BlobFound{}
	var writing sync.WaitGroup
	r.put = func(_ context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		now, own := hostNow(), bytes.Clone(p)
		mu.Lock()
		defer mu.Unlock()
		pending[ref] = spi.BlobFound{Bytes: own, StoreNow: now, ExpiresAt: now + spi.Millis(ms)}
		writing.Go(func() {
			time.Sleep(50 * time.Millisecond)
			_, _ = r.RelocationStore.Put(context.Background(), ref, own, ms)
		})
		return spi.Stored{StoreNow: now, ExpiresAt: now + spi.Millis(ms)}, nil
	}
	r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
		mu.Lock()
		f, ok := pending[ref]
		mu.Unlock()
		if ok {
			f.Bytes = bytes.Clone(f.Bytes)
			return f, nil
		}
		return r.RelocationStore.Read(ctx, ref)
	}
	r.close = func() error {
		writing.Wait()
		return r.RelocationStore.Close()
	}
}

func cachedChunks(r *relocation) {
	var cache sync.Map
	r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
		if f, ok := cache.Load(ref); ok {
			return f.(spi.BlobFound), nil
		}
		result, err := r.RelocationStore.Read(ctx, ref)
		if f, ok := result.(spi.BlobFound); ok {
			f.Bytes = bytes.Clone(f.Bytes)
			cache.Store(ref, f)
		}
		return result, err
	}
}
