package redislayout

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// blobCases: the Redis keys and strings that the target writes (R8.key,
// R8.string).
func blobCases() []harness.Case {
	return []harness.Case{
		relocationCase("blob/key", "A payload stands at a Redis key that ends in its reference exactly as it was issued.",
			"R8.key R8.string", blobKeys),
		relocationCase("blob/raw-bytes", "A payload is a Redis string of its raw bytes, be they empty, text or any of the 256.",
			"R8.string R8.key", blobBytes),
		relocationCase("blob/expiry", "Put sets a native expiry in milliseconds, the one that it reports.",
			"R8.string R8.key R3.expiry-clock", func(t *harness.T) {
				checkExpiry(t, "the expiry after Put", 61_500,
					func() spi.Millis { return t.Relocation().MustStore("r", []byte("p"), 61_500).ExpiresAt })
			}),
		relocationCase("blob/renew", "Renew sets a new native expiry on the same Redis key and leaves the bytes alone, "+
			"be it later or earlier.", "R8.string R8.key R3.expiry-clock", blobRenew),
		relocationCase("blob/delete", "Delete removes the payload's Redis key.", "R8.string R8.key", func(t *harness.T) {
			t.Relocation().MustStore("r", []byte("p"), hour)
			checkBlob(t, t.Redis(), "r", []byte("p"))
			t.Relocation().MustDelete("r")
			kind := raw.On(t).Type(layout.BlobKey(t.KeyPrefix(), "r"))
			t.Checkf(kind == "none", "R8.string", "the deleted payload's Redis key still holds a %s", kind)
		}),
	}
}

var oddReferences = []spi.Reference{
	"r", "R", " r ", "a:b", "{}", "{x}", "a}b{c", "a\x00b", "*?[a-z]", `back\slash`, "참조", "é", "e\u0301", "a\r\nb",
	spi.Reference(strings.Repeat("r", spi.MaxReferenceBytes)),
}

func blobKeys(t *harness.T) {
	for i, ref := range oddReferences {
		t.Relocation().MustStore(ref, fmt.Appendf(nil, "payload %d", i), hour)
	}
	for i, ref := range oddReferences {
		checkBlob(t, t.Redis(), ref, fmt.Appendf(nil, "payload %d", i))
	}
}

func blobBytes(t *harness.T) {
	every := harness.EveryByte()
	for i, payload := range [][]byte{nil, {0}, every, []byte("text"), []byte("12345"), []byte("3q2+7w=="),
		t.RandomBytes(100_000)} {
		ref := spi.Reference(fmt.Sprint("r", i))
		t.Relocation().MustStore(ref, payload, hour)
		checkBlob(t, t.Redis(), ref, payload)
	}
}

// checkExpiry runs an operation that sets the payload "r"'s expiry, and holds
// the native one and the reported one against the retention. The bracket is
// that of Redis's own clock before and after, so that a slow machine widens it.
func checkExpiry(t *harness.T, what string, retention spi.Millis, operation func() spi.Millis) {
	key := layout.BlobKey(t.KeyPrefix(), "r")
	var reported spi.Millis
	b := t.Bracket(func() { reported = operation() })
	ttl := raw.Must(t.Redis().PTTL(t.Context(), key).Result())(t, "PTTL")
	switch kind := raw.On(t).Type(key); {
	case kind == "none":
		t.Failf("R8.key", "%s can't be seen: nothing stands at the Redis key %.200q", what, key)
		return
	case kind != "string":
		t.Failf("R8.string", "%s can't be seen: the payload's Redis key holds a %s", what, kind)
		return
	case ttl < 0: // -1 and -2, which go-redis hands on as nanoseconds
		t.Failf("R8.string", "%s is no native one: the string at the payload's Redis key has none", what)
		return
	}
	end := t.Now()
	// Redis set it within before..after and told what is left of it within after..end.
	const rounding = 1
	left := spi.Millis(ttl.Milliseconds())
	t.Between("R8.string", what+" in Redis, in ms from then on,", retention-(end-b.Before)-rounding, left, retention+rounding)
	t.Expires("R3.expiry-clock", what+" as reported", b, spi.Retention(retention), reported)
}

func blobRenew(t *harness.T) {
	t.Relocation().MustStore("r", []byte("payload"), hour)
	for _, retention := range []spi.Millis{2*hour + 500, 90_500} {
		checkExpiry(t, fmt.Sprintf("the expiry after Renew for %d ms", retention), retention, func() spi.Millis {
			return t.Relocation().MustRenew("r", spi.Retention(retention)).ExpiresAt
		})
		checkBlob(t, t.Redis(), "r", []byte("payload"))
	}
}

// foreignBlobCases: strings that another provider left, and what no conforming
// provider leaves (R8.interop-read, R8.unknown).
func foreignBlobCases() []harness.Case {
	cases := []harness.Case{
		relocationCase("foreign/blob", "A payload of another provider reads, compares, renews and is deleted like an own one.",
			"R8.interop-read R8.string R8.key", foreignBlob),
		relocationCase("unreadable/blob-without-expiry",
			"A string without expiry is an explicit store failure in Put, Read and Renew.", "R8.unknown", func(t *harness.T) {
				refusesBlob(t, func(c redis.Cmdable, key string) error { return c.Set(t.Context(), key, "payload", 0).Err() })
			}),
	}
	for _, w := range wrongTypes {
		if w.name == "string" {
			continue
		}
		cases = append(cases, relocationCase("unreadable/blob-type-"+w.name,
			fmt.Sprintf("A payload's Redis key that is %s is an explicit store failure in Put, Read and Renew.",
				w.title), "R8.unknown", func(t *harness.T) {
				refusesBlob(t, func(c redis.Cmdable, key string) error {
					if err := w.plant(t, c, key); err != nil {
						return err
					}
					return c.PExpire(t.Context(), key, time.Hour).Err() // with one, so that the type alone is wrong
				})
			}))
	}
	return cases
}

func foreignBlob(t *harness.T) {
	store := t.Relocation()
	for i, ref := range oddReferences {
		payload := t.RandomBytes(40 * i)
		set := t.Bracket(func() {
			raw.Must(t.Redis().Set(t.Context(), layout.BlobKey(t.KeyPrefix(), string(ref)), payload, time.Hour).Result())(t,
				"SET")
		})
		var f spi.BlobFound
		read := t.Bracket(func() { f = store.MustFind(ref) })
		t.EqualBytes("R8.interop-read", fmt.Sprintf("the planted payload of %.40q", ref), payload, f.Bytes)
		t.Expires("R8.interop-read", fmt.Sprintf("the expiry of the planted %.40q", ref), set.Widened(read), hour, f.ExpiresAt)
		again := store.MustPut(ref, payload, hour)
		_, already := again.(spi.AlreadyStored)
		t.Checkf(already, "R8.interop-read", "putting the bytes of the planted %.40q answered %s, expected alreadyStored", ref,
			harness.Describe(again))
		other := store.MustPut(ref, append([]byte("x"), payload...), hour)
		_, conflict := other.(spi.Conflict)
		t.Checkf(conflict, "R8.interop-read", "putting other bytes at the planted %.40q answered %s, expected conflict", ref,
			harness.Describe(other))
		store.MustRenew(ref, 2*hour)
		checkBlob(t, t.Redis(), ref, payload)
		store.MustDelete(ref)
		store.MustMiss(ref)
	}
}

// refusesBlob plants what no conforming provider leaves at the key of "r".
func refusesBlob(t *harness.T, plant func(c redis.Cmdable, redisKey string) error) {
	key, ctx, store := layout.BlobKey(t.KeyPrefix(), "r"), t.Context(), t.Relocation()
	if err := plant(t.Redis(), key); err != nil {
		t.Troublef("planting a key that is no payload failed: %v", err)
	}
	before := raw.On(t).Dump(key)
	refuses[spi.BlobReadResult](t, "R8.unknown", "reading it")(store.Read(ctx, "r"))
	refuses[spi.BlobRenewResult](t, "R8.unknown", "renewing it")(store.Renew(ctx, "r", hour))
	refuses[spi.BlobPutResult](t, "R8.unknown", "putting the same bytes there")(store.Put(ctx, "r", []byte("payload"), hour))
	t.Checkf(raw.On(t).Dump(key) == before, "R8.unknown", "operations that failed have changed the key")
}
