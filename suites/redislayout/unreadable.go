package redislayout

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// plain is the member that the unreadable ones are made of: short enough that
// every str of it has a header of one byte.
var plain = layout.Member{Key: "k", Value: []byte("value"), Version: "v-1"}

// parts of plain's encoding, each one field.
var (
	keyStr     = []byte("\xa1k")
	valueStr   = []byte("\xa5value")
	versionStr = []byte("\xa3v-1")
)

func member(parts ...[]byte) []byte { return slices.Concat(parts...) }

func bin(s string) []byte { return append([]byte{0xc4, byte(len(s))}, s...) }

var (
	head      = []byte{layout.Tag, layout.Array}
	noExpiry  = []byte{0x00}
	live      = []byte{0xc2}
	wellTail  = member(noExpiry, live)
	wellFront = member(head, keyStr, valueStr, versionStr)
)

// unreadable are members that no conforming provider writes.
var unreadable = []struct {
	name, title string
	bytes       []byte
}{
	{"tag-0x00", "the format tag 0x00", member([]byte{0x00, layout.Array}, keyStr, valueStr, versionStr, wellTail)},
	{"tag-0x02", "the format tag 0x02", member([]byte{0x02, layout.Array}, keyStr, valueStr, versionStr, wellTail)},
	{"no-tag", "no format tag", member([]byte{layout.Array}, keyStr, valueStr, versionStr, wellTail)},
	{"arity-4", "an array of four", member([]byte{layout.Tag, 0x94}, keyStr, valueStr, versionStr, noExpiry)},
	{"arity-6", "an array of six", member([]byte{layout.Tag, 0x96}, keyStr, valueStr, versionStr, wellTail, []byte{0x00})},
	{"map", "a map instead of the array", member([]byte{layout.Tag, 0x81}, keyStr, valueStr)},
	{"bin-key", "a key of the bin family", member(head, bin("k"), valueStr, versionStr, wellTail)},
	{"bin-value", "a value of the bin family", member(head, keyStr, bin("value"), versionStr, wellTail)},
	{"bin-version", "a version of the bin family", member(head, keyStr, valueStr, bin("v-1"), wellTail)},
	{"integer-version", "an integer as version", member(head, keyStr, valueStr, []byte{0x07}, wellTail)},
	{"nil-value", "nil as value", member(head, keyStr, []byte{0xc0}, versionStr, wellTail)},
	{"float-expiry", "a float as expiry", member(wellFront, []byte{0xcb, 0x42, 0xd6, 0xbc, 0xc4, 0x1e, 0x90, 0x00, 0x00}, live)},
	{"negative-expiry", "a negative expiry", member(wellFront, []byte{0xff}, live)},
	{"text-expiry", "text as expiry", member(wellFront, []byte("\xa10"), live)},
	{"integer-tombstone", "an integer as tombstone flag", member(wellFront, noExpiry, []byte{0x00})},
	{"nil-tombstone", "nil as tombstone flag", member(wellFront, noExpiry, []byte{0xc0})},
	{"trailing-bytes", "bytes behind the array", member(wellFront, wellTail, []byte{0x00})},
	{"truncated", "an end in the middle of the value", member(head, keyStr, valueStr[:3])},
	{"truncated-last", "no tombstone flag, though the array announces one", member(wellFront, noExpiry)},
	{"empty", "no bytes", nil},
	{"base64", "the well-formed member as base64 text",
		[]byte(base64.StdEncoding.EncodeToString(layout.EncodeMember(nil, plain)))},
	{"json", "a JSON text", []byte(`{"key":"k","value":"value","version":"v-1"}`)},
}

// wrongTypes put something else than a sorted set at a record's key.
var wrongTypes = []struct {
	name, title string
	plant       func(t *harness.T, c redis.Cmdable, redisKey string) error
}{
	{"string", "a string, be it a well-formed member", func(t *harness.T, c redis.Cmdable, key string) error {
		return c.Set(t.Context(), key, layout.EncodeMember(nil, plain), 0).Err()
	}},
	{"hash", "a hash, as older layouts had it", func(t *harness.T, c redis.Cmdable, key string) error {
		return c.HSet(t.Context(), key, "value", "value", "version", "v-1", "expiresAt", "0").Err()
	}},
	{"list", "a list", func(t *harness.T, c redis.Cmdable, key string) error {
		return c.RPush(t.Context(), key, layout.EncodeMember(nil, plain)).Err()
	}},
}

// unreadableCases: records in a form that the layout does not know
// (L9.unknown-tag).
func unreadableCases() []harness.Case {
	var cases []harness.Case
	for _, u := range unreadable {
		cases = append(cases, locationCase("unreadable/"+u.name, fmt.Sprintf(
			"A member with %s is an explicit store failure on read and in conditions.", u.title),
			"L9.unknown-tag L4.all-or-nothing", func(t *harness.T) {
				raw.On(t).Put("k", u.bytes)
				refusesRecord(t, t.Location(), "k")
			}))
	}
	for _, w := range wrongTypes {
		cases = append(cases, locationCase("unreadable/type-"+w.name,
			fmt.Sprintf("A record's Redis key that is %s is an explicit store failure on read and in conditions.",
				w.title), "L9.unknown-tag L4.all-or-nothing", func(t *harness.T) {
				plantType(t, w.plant, "k")
				key := layout.RecordKey(t.KeyPrefix(), "k")
				before := raw.On(t).Dump(key)
				refusesRecord(t, t.Location(), "k")
				t.Checkf(raw.On(t).Dump(key) == before, "L9.unknown-tag",
					"the Redis key of another type was changed by operations that failed")
			}))
	}
	cases = append(cases, batchCases()...)
	return append(cases, locationCase("unreadable/scan", "A scan never shows an unreadable record as if it could be read.",
		"L9.unknown-tag", scanUnreadable))
}

func plantType(t *harness.T, plant func(*harness.T, redis.Cmdable, string) error, key spi.Key) {
	if err := plant(t, t.Redis(), layout.RecordKey(t.KeyPrefix(), string(key))); err != nil {
		t.Troublef("planting a Redis key of another type failed: %v", err)
	}
	raw.On(t).Register(key)
}

// scanUnreadable leaves open whether the scan fails or goes on without the
// record.
func scanUnreadable(t *harness.T) {
	for _, u := range unreadable {
		raw.On(t).Put("k", u.bytes)
		r, err := t.Location().Scan(t.Context(), spi.ScanRequest{Prefix: "k", Limit: 10})
		if err != nil {
			t.ErrorKind("L9.unknown-tag", "a scan over a record with "+u.title, err, spi.KindStoreFailure)
			continue
		}
		if page, ok := r.(spi.Page); ok {
			t.Checkf(len(page.Items) == 0, "L9.unknown-tag", "a scan showed a record with %s: %s", u.title,
				harness.Describe(page))
		}
	}
}

// scopeCases: one unreadable record beside readable ones (L6.failure-scope).
func scopeCases() []harness.Case {
	return []harness.Case{
		locationCase("scope/other-keys", "Unreadable records leave reads, writes and scans of other keys alone.",
			"L6.failure-scope", otherKeys),
		locationCase("scope/same-batch", "A write that an unreadable record stopped can be repeated without it.",
			"L6.failure-scope L9.unknown-tag L4.all-or-nothing", sameBatch),
	}
}

func plantUnreadable(t *harness.T) {
	for i, u := range unreadable {
		raw.On(t).Put(spi.Key(fmt.Sprint("bad/", i)), u.bytes)
	}
	for _, w := range wrongTypes {
		plantType(t, w.plant, spi.Key("bad/"+w.name))
	}
}

func otherKeys(t *harness.T) {
	store := t.Location()
	v := store.MustPut("good/before", []byte("v"), nil)
	plantUnreadable(t)
	t.EqualBytes("L6.failure-scope", "a record beside unreadable ones", []byte("v"), store.MustFind("good/before").Value.Bytes)
	for range 10 { // so that house-keeping of the writes meets the unreadable records
		v = store.MustApply(write(given(ifVersion("good/before", v)), put("good/before", "w"))).PutVersions[0].Version
	}
	store.MustApply(gated(ifMissing("good/new"), "good/new"))
	items := store.MustScan("good/", 1)
	t.Checkf(len(items) == 2, "L6.failure-scope", "a scan beside unreadable records shows %d records, expected 2", len(items))
	store.MustDelete("good/before")
	store.MustMiss("good/before")
}

func sameBatch(t *harness.T) {
	store := t.Location()
	raw.On(t).Put("bad", unreadable[0].bytes)
	v := store.MustPut("good", []byte("v"), nil)
	condition := ifVersion("good", v)
	put := put("good", "w")
	r, err := store.Write(t.Context(), write(given(condition, ifMissing("bad")), put))
	refuses[spi.WriteResult](t, "L9.unknown-tag", "a condition on an unreadable record")(r, err)
	f := store.MustFind("good")
	t.Checkf(f.Value.Version == v, "L4.all-or-nothing", "the failed write has changed the record beside the unreadable one")
	store.MustApply(write(given(condition), put))
}
