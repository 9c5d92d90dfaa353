package redislayout

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// legacyCases: state in an older or a similar layout is neither read nor
// converted (L9.no-legacy, R8.no-legacy).
func legacyCases() []harness.Case {
	return []harness.Case{
		locationCase("legacy/location", "Records under other key layouts are Missing, appear in no scan and stay as they are.",
			"L9.no-legacy", legacyRecords),
		relocationCase("legacy/relocation", "Payloads under other key layouts are Missing, never AlreadyStored or "+
			"Conflict, and stay as they are.", "R8.no-legacy", legacyBlobs),
	}
}

// legacyKeys are places in which an older or careless layout may keep "k";
// each has its own sort of value.
func legacyKeys(prefix string) (zsets, texts, hashes []string) {
	sum := sha256.Sum256([]byte("k"))
	digest := hex.EncodeToString(sum[:])
	zsets = []string{
		prefix + ":zlink-location-v3:opaque:" + digest, // no braces
		prefix + ":{zlink-location-v2}:opaque:" + digest,
		prefix + ":{zlink-location-v4}:opaque:" + digest,
		prefix + ":{zlink-location-v3}:" + digest,
		prefix + ":{zlink-location-v3}:opaque:" + strings.ToUpper(digest),
		prefix + ":{zlink-location-v3}:opaque:k", // no digest
		prefix + "{zlink-location-v3}:opaque:" + digest,
	}
	texts = []string{
		prefix + ":record:k",
		prefix + ":{zlink-location-v3}:record:k",
		prefix + ":{zlink-location-v2}:record:" + digest,
	}
	hashes = []string{
		prefix + ":location:k",
		prefix + ":{zlink-location-v2}:hash:" + digest,
		prefix + ":{zlink-location-v3}:record:" + digest,
	}
	return zsets, texts, hashes
}

func legacyRecords(t *harness.T) {
	value := []byte(`{"recordVersion":1,"ownerId":"owner-a","leaseGeneration":"5"}`)
	good := layout.EncodeMember(nil, layout.Member{Key: "k", Value: value, Version: "1"})
	zsets, texts, hashes := legacyKeys(t.KeyPrefix())
	untouched := plantAll(t, func(p redis.Pipeliner) (keys []string) {
		for _, key := range zsets {
			p.ZAdd(t.Context(), key, redis.Z{Score: 1, Member: good})
		}
		for _, key := range texts {
			p.Set(t.Context(), key, base64.StdEncoding.EncodeToString(value), 0)
		}
		for _, key := range hashes {
			p.HSet(t.Context(), key, "key", "k", "value", value, "version", "1", "expiresAtMs", "0")
		}
		return append(append(append(keys, zsets...), texts...), hashes...)
	})
	store := t.Location()
	store.MustMiss("k")
	t.Checkf(len(store.MustScan("", 100)) == 0, "L9.no-legacy", "a scan shows records of another layout")
	store.MustConflict(gated(ifVersion("k", "1"), "never"))
	store.MustDelete("k")
	store.MustApply(gated(ifMissing("k"), "k"))
	t.EqualBytes("L9.no-legacy", "the value that was put beside older layouts", []byte("v"), store.MustFind("k").Value.Bytes)
	store.MustDelete("k")
	store.MustMiss("k")
	untouched("L9.no-legacy")
}

func legacyBlobs(t *harness.T) {
	prefix, payload := t.KeyPrefix(), []byte("payload")
	sum := sha256.Sum256([]byte("r"))
	keys := []string{
		prefix + ":blob:r",
		prefix + ":{zlink-relocation-v0}:blob:r",
		prefix + ":{zlink-relocation-v2}:blob:r",
		prefix + ":zlink-relocation-v1:blob:r",
		prefix + ":{zlink-relocation-v1}:r",
		prefix + ":{zlink-relocation-v1}:blob:" + hex.EncodeToString(sum[:]),
		prefix + ":relocation:r",
	}
	untouched := plantAll(t, func(p redis.Pipeliner) []string {
		for _, key := range keys {
			p.Set(t.Context(), key, payload, time.Hour)
		}
		return keys
	})
	store := t.Relocation()
	store.MustMiss("r")
	res, err := store.Renew(t.Context(), "r", hour)
	if _, missing := res.(spi.Missing); err != nil || !missing {
		t.Failf("R8.no-legacy", "renewing a payload that only stands under other layouts answered %s, error %v",
			harness.Describe(res), err)
	}
	store.MustDelete("r")
	store.MustStore("r", []byte("other"), hour)
	t.EqualBytes("R8.no-legacy", "the payload that was stored beside older layouts", []byte("other"), store.MustFind("r").Bytes)
	store.MustDelete("r")
	untouched("R8.no-legacy")
}

// plantAll plants keys and returns a check that they are still as they were.
func plantAll(t *harness.T, plant func(redis.Pipeliner) []string) func(requirement string) {
	p := t.Redis().Pipeline()
	keys := plant(p)
	if _, err := p.Exec(t.Context()); err != nil {
		t.Troublef("planting keys of other layouts failed: %v", err)
	}
	before := map[string]string{}
	for _, key := range keys {
		before[key] = raw.On(t).Dump(key)
	}
	return func(requirement string) {
		for _, key := range keys {
			t.Checkf(raw.On(t).Dump(key) == before[key], requirement, "the Redis key %q of another layout was changed", key)
		}
	}
}
