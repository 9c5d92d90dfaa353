package redislayout

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/fixtures"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/reference/record"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// goldenCases: the golden fixture's vectors through the target (L9.golden,
// R9.golden), and the framework's record version (L9.recordversion).
func goldenCases() []harness.Case {
	return []harness.Case{
		locationCase("golden/keys", "The target stores every logical key of the golden fixture at the fixture's Redis key.",
			"L9.golden L9.key", goldenKeys),
		locationCase("golden/read", "The golden members, planted as they are, read as the records that they hold, tombstone "+
			"and expired one included.", "L9.golden L9.interop-read", goldenRead),
		locationCase("golden/write", "The golden records, put by the target, become the golden members, apart from the version.",
			"L9.golden L9.member", goldenWrite),
		relocationCase("golden/relocation", "The golden payload stands at the golden key with the golden bytes, written "+
			"by the target or planted.", "R9.golden R8.key", goldenBlob),
		locationCase("golden/record-version", "A record with another recordVersion comes back unaltered, so that the "+
			"framework's decoder refuses it.", "L9.recordversion L9.golden", recordVersion),
	}
}

func fixture(t *harness.T) (f fixtures.File) {
	if err := json.Unmarshal(fixtures.Embedded(), &f); err != nil {
		t.Troublef("the golden fixture is unreadable: %v", err)
	}
	return f
}

// redisKey is a key of the fixture under the case's prefix.
func redisKey(t *harness.T, f fixtures.File, goldenKey string) string {
	return t.KeyPrefix() + strings.TrimPrefix(goldenKey, f.PrefixExample)
}

func unhex(t *harness.T, digits string) []byte {
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Troublef("the golden fixture holds bad hex digits: %v", err)
	}
	return b
}

func goldenKeys(t *harness.T) {
	f := fixture(t)
	check := func(key spi.Key, goldenKey string) {
		t.Location().MustPut(key, []byte("v"), nil)
		kind := raw.On(t).Type(redisKey(t, f, goldenKey))
		t.Checkf(kind == "zset", "L9.golden", "the record of %q is not at the golden key %s: that is %s", key, goldenKey, kind)
	}
	for _, v := range f.KeyDerivation {
		check(spi.Key(unhex(t, v.PreimageHex)), v.RedisKey)
	}
	for _, v := range f.ConformanceVectors.Keys {
		key, err := v.LogicalKey.Decode()
		if err != nil {
			t.Troublef("the golden fixture holds a bad key: %v", err)
		}
		check(spi.Key(key), v.RedisKey)
	}
}

func expiry(t *harness.T, v fixtures.ValueVector) spi.Millis {
	at, err := strconv.ParseInt(v.ExpiresAtMs, 10, 64)
	if err != nil {
		t.Troublef("the golden vector %s holds a bad expiry: %v", v.Name, err)
	}
	return spi.Millis(at)
}

func goldenRead(t *harness.T) {
	for _, v := range fixture(t).ValueVectors.GenericOpaqueRecord {
		key := spi.Key(fixtures.Unprintable(v.OriginalKey))
		raw.On(t).Put(key, unhex(t, v.FullValueHex))
		if v.Tombstone || expiry(t, v) != spi.NoExpiry { // the expired vector's expiry is in 2023
			r := t.Location().MustRead(key)
			_, missing := r.(spi.Missing)
			t.Checkf(missing, "L9.golden", "reading the golden %s answered %s, expected missing", v.Name, harness.Describe(r))
			t.Location().MustConflict(gated(ifVersion(key, spi.Version(v.Version)), "never"))
			continue
		}
		found := t.Location().MustFind(key)
		t.EqualBytes("L9.golden", "the value of the golden "+v.Name, unhex(t, v.JSONBytesHex), found.Value.Bytes)
		t.Checkf(string(found.Value.Version) == v.Version, "L9.golden", "the version of the golden %s is %q, expected %q", v.Name,
			found.Value.Version, v.Version)
		t.Checkf(found.Value.ExpiresAt == spi.NoExpiry, "L9.golden", "the golden %s has the expiry %d, expected none", v.Name,
			found.Value.ExpiresAt)
		t.Location().MustApply(gated(ifVersion(key, spi.Version(v.Version)), "beside"))
	}
}

// goldenWrite compares with the golden bytes in which the target's version and,
// for the expired vector, its expiry take the place of the fixture's.
func goldenWrite(t *harness.T) {
	for _, v := range fixture(t).ValueVectors.GenericOpaqueRecord {
		golden, err := layout.DecodeMember(unhex(t, v.FullValueHex))
		if err != nil {
			t.Troublef("the golden vector %s is unreadable: %v", v.Name, err)
		}
		var retention *spi.Retention
		if golden.ExpiresAt != spi.NoExpiry {
			retention = spi.For(hour)
		}
		key := spi.Key(fixtures.Unprintable(v.OriginalKey))
		t.Location().MustPut(key, unhex(t, v.JSONBytesHex), retention)
		if v.Tombstone {
			t.Location().MustDelete(key)
			if _, there := raw.On(t).Newest(key); !there {
				continue // allowed: L9.tombstone
			}
		}
		e := raw.On(t).Current(key)
		want := golden
		want.Version = e.Member.Version
		if retention != nil || v.Tombstone { // the layout pins no expiry of a tombstone
			want.ExpiresAt = e.Member.ExpiresAt
		}
		if retention != nil {
			t.Checkf(e.Member.ExpiresAt != spi.NoExpiry, "L9.golden",
				"the golden %s was put with a retention, but its member has no expiry", v.Name)
		}
		t.EqualBytes("L9.golden", "the member of the golden "+v.Name+" with the target's version", raw.On(t).Pack(want), e.Bytes)
	}
}

func goldenBlob(t *harness.T) {
	f := fixture(t)
	blob := f.RelocationBlob
	key, ref, payload := redisKey(t, f, blob.RedisKey), spi.Reference(blob.Reference), unhex(t, blob.RawBytesHex)
	store := t.Relocation()
	store.MustStore(ref, payload, hour)
	if kind := raw.On(t).Type(key); kind != "string" {
		t.Fatalf("R9.golden", "the golden payload is not at the golden key %s: that is %s", blob.RedisKey, kind)
	}
	t.EqualBytes("R9.golden", "the string of the golden payload", payload,
		raw.Must(t.Redis().Get(t.Context(), key).Bytes())(t, "GET"))
	store.MustDelete(ref)
	raw.Must(t.Redis().Set(t.Context(), key, payload, time.Hour).Result())(t, "SET")
	t.EqualBytes("R9.golden", "the planted golden payload", payload, store.MustFind(ref).Bytes)
}

// recordVersion goes through the target, because a store that knew the records
// and "repaired" their version would keep the framework from refusing them.
func recordVersion(t *harness.T) {
	for i, text := range []string{
		`{"recordVersion":2,"ownerId":"owner-a","leaseGeneration":"5"}`,
		`{"recordVersion":"1","ownerId":"owner-a","leaseGeneration":"5"}`,
		`{"ownerId":"owner-a","leaseGeneration":"5"}`,
	} {
		key := spi.Key(fmt.Sprint("owner-lease\x00owner-", i))
		t.Location().MustPut(key, []byte(text), nil)
		got := t.Location().MustFind(key).Value.Bytes
		t.EqualBytes("L9.recordversion", "a record with another recordVersion", []byte(text), got)
		_, err := record.Decode[record.OwnerLease](got)
		t.Checkf(err != nil, "L9.recordversion", "the framework's decoder takes %s for a record of version 1", got)
	}
}
