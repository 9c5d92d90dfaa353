package redislayout

import (
	"fmt"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// farAhead is in the year 2255: later times are beyond some languages' clocks.
const farAhead spi.Millis = 9_000_000_000_000

// foreignCases: members that another provider wrote, as the target reads them
// (L9.interop-read).
func foreignCases() []harness.Case {
	return []harness.Case{
		locationCase("foreign/values", "Keys and values of another provider, on both sides of every str width, read as they are.",
			"L9.interop-read", foreignValues),
		locationCase("foreign/versions", "A version in another provider's own form comes back as it is and works in a condition.",
			"L9.interop-read", foreignVersions),
		locationCase("foreign/expiring", "A record of another provider with an expiry ahead reads with exactly that expiry.",
			"L9.interop-read L9.expiry-field", foreignExpiring),
		locationCase("foreign/expired", "A record of another provider with an expiry of any width in the past is Missing.",
			"L9.interop-read L9.expiry-field", foreignExpired),
		locationCase("foreign/expires-meanwhile", "A record of another provider is Missing from its expiry on.",
			"L9.interop-read L3.expired-missing", foreignExpires),
		locationCase("foreign/tombstone", "A tombstone of another provider is Missing, also with older members below it.",
			"L9.tombstone L9.interop-read", foreignTombstone),
		locationCase("foreign/newest", "Of several members the one with the highest score counts, not the last in byte order.",
			"L9.zset L9.interop-read", foreignNewest),
		locationCase("foreign/overwrite", "A record of another provider is overwritten and deleted like an own one.",
			"L9.interop-read L9.zset L9.tombstone", foreignOverwrite),
		locationCase("foreign/scan", "A scan shows the live records of another provider and neither its "+
			"tombstones nor its expired ones.", "L9.interop-scan", foreignScan),
	}
}

// found checks what the target makes of a planted member.
func found(t *harness.T, requirement string, m layout.Member) spi.Found {
	f := t.Location().MustFind(spi.Key(m.Key))
	t.EqualBytes(requirement, fmt.Sprintf("the value of the planted %.40q", m.Key), m.Value, f.Value.Bytes)
	t.Checkf(string(f.Value.Version) == m.Version, requirement, "the version of the planted %.40q is %.60q, expected %.60q",
		m.Key, f.Value.Version, m.Version)
	t.Checkf(f.Value.ExpiresAt == m.ExpiresAt, "L9.expiry-field", "the expiry of the planted %.40q is %d, expected %d", m.Key,
		f.Value.ExpiresAt, m.ExpiresAt)
	return f
}

func foreignValues(t *harness.T) {
	plant := func(key string, value []byte) {
		m := layout.Member{Key: key, Value: value, Version: "other-1"}
		raw.On(t).PutMember(m)
		found(t, "L9.interop-read", m)
	}
	for _, n := range []int{1, 31, 32, 255, 256, 1024} {
		plant(strings.Repeat("k", n), []byte("v"))
	}
	for _, n := range []int{0, 31, 32, 255, 256, 65535, 65536, spi.MaxValueBytes} {
		plant(fmt.Sprint("value of ", n), t.RandomBytes(n))
	}
	for _, key := range oddKeys {
		plant("odd "+string(key[:min(len(key), 1000)]), []byte("\x00\xff\xfe\r\n"))
	}
}

func foreignVersions(t *harness.T) {
	for i, version := range []string{"7", "0195b36f-776e-4572-8d6c-656173650000", "版-1", "a b\x00c",
		strings.Repeat("v", spi.MaxVersionBytes)} {
		m := layout.Member{Key: fmt.Sprint("k", i), Value: []byte("v"), Version: version}
		raw.On(t).PutMember(m)
		found(t, "L9.interop-read", m)
		key := spi.Key(m.Key)
		t.Location().MustConflict(gated(ifVersion(key, "other"), "never"))
		t.Location().MustConflict(gated(ifMissing(key), "never"))
		t.Location().MustApply(write(given(ifVersion(key, spi.Version(version))), put(key, "new")))
		t.EqualBytes("L9.interop-read", "the value after a write under the planted version", []byte("new"),
			t.Location().MustFind(key).Value.Bytes)
	}
}

func foreignExpiring(t *harness.T) {
	for i, at := range []spi.Millis{t.Now() + hour, 4_294_967_296_000, farAhead} {
		m := layout.Member{Key: fmt.Sprint("k", i), Value: []byte("v"), Version: "other-1", ExpiresAt: at}
		raw.On(t).PutMember(m)
		found(t, "L9.interop-read", m)
		t.Location().MustConflict(gated(ifMissing(spi.Key(m.Key)), "never"))
	}
}

func foreignExpired(t *harness.T) {
	store := t.Location()
	for i, at := range []spi.Millis{1, 127, 128, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, t.Now() - 1} {
		key := spi.Key(fmt.Sprint("k", i))
		raw.On(t).PutMember(layout.Member{Key: string(key), Value: []byte("v"), Version: "other-1", ExpiresAt: at})
		store.MustMiss(key)
		store.MustConflict(gated(ifVersion(key, "other-1"), "never"))
		store.MustApply(gated(ifMissing(key), spi.Key(fmt.Sprint("beside", i))))
	}
}

func foreignExpires(t *harness.T) {
	at := t.Now() + 150
	raw.On(t).PutMember(layout.Member{Key: "k", Value: []byte("v"), Version: "other-1", ExpiresAt: at})
	t.Await("L3.expired-missing", "the expiry of a planted record", 10*time.Second, func() bool {
		switch r := t.Location().MustRead("k").(type) {
		case spi.Found:
			t.Checkf(r.StoreNow < at, "L3.expired-missing", "found at %d although the record expired at %d", r.StoreNow, at)
		case spi.Missing:
			t.Checkf(r.StoreNow >= at, "L9.interop-read", "missing at %d although the record expires at %d", r.StoreNow, at)
			return true
		}
		return false
	})
}

func foreignTombstone(t *harness.T) {
	store, keys := t.Location(), raw.On(t)
	keys.PutMember(layout.Member{Key: "lone", Version: "other-1", Tombstone: true})
	keys.PutMember(layout.Member{Key: "deleted", Value: []byte("v"), Version: "other-1"})
	keys.PutMember(layout.Member{Key: "deleted", Version: "other-2", Tombstone: true})
	for i, key := range []spi.Key{"lone", "deleted"} {
		store.MustMiss(key)
		for _, version := range []spi.Version{"other-1", "other-2"} {
			store.MustConflict(gated(ifVersion(key, version), "never"))
		}
		store.MustApply(gated(ifMissing(key), spi.Key(fmt.Sprint("beside", i))))
		store.MustDelete(key)
	}
}

func foreignNewest(t *harness.T) {
	keys := raw.On(t)
	for i, values := range [][]string{{"z", "a"}, {"a", "z"}, {"long value that sorts last", ""}} {
		var m layout.Member
		for v, value := range values {
			m = layout.Member{Key: fmt.Sprint("k", i), Value: []byte(value), Version: fmt.Sprint("other-", v)}
			keys.PutMember(m)
		}
		found(t, "L9.zset", m)
		t.Location().MustConflict(gated(ifVersion(spi.Key(m.Key), "other-0"), "never"))
	}
}

func foreignOverwrite(t *harness.T) {
	store, keys := t.Location(), raw.On(t)
	for range 5 { // so that a counter that the target keeps for itself would lag behind
		keys.PutMember(layout.Member{Key: "k", Value: []byte("v"), Version: "other-1"})
	}
	before := keys.Current("k")
	store.MustPut("k", []byte("new"), nil)
	after := keys.Current("k")
	t.Checkf(after.Score > before.Score, "L9.zset", "the score of the overwrite is %.0f, not above %.0f of the planted member",
		after.Score, before.Score)
	t.EqualBytes("L9.interop-read", "the value of the current member after an overwrite", []byte("new"), after.Member.Value)
	t.EqualBytes("L9.interop-read", "the value after an overwrite", []byte("new"), store.MustFind("k").Value.Bytes)
	keys.PutMember(layout.Member{Key: "k", Value: []byte("theirs"), Version: "other-2"})
	store.MustDelete("k")
	checkTombstone(t, "k")
	store.MustMiss("k")
}

func foreignScan(t *harness.T) {
	keys := raw.On(t)
	var want []spi.Item
	for i := range 7 {
		m := layout.Member{Key: fmt.Sprintf("p/%d", i), Value: []byte{byte(i)}, Version: fmt.Sprint("other-", i),
			ExpiresAt: spi.Millis(i%2) * farAhead}
		keys.PutMember(m)
		want = append(want, spi.Item{Key: spi.Key(m.Key),
			Value: spi.Value{Bytes: m.Value, Version: spi.Version(m.Version), ExpiresAt: m.ExpiresAt}})
	}
	keys.PutMember(layout.Member{Key: "p/expired", Value: []byte("v"), Version: "other-1", ExpiresAt: 1})
	keys.PutMember(layout.Member{Key: "p/deleted", Version: "other-1", Tombstone: true})
	keys.PutMember(layout.Member{Key: "q", Value: []byte("v"), Version: "other-1"})
	t.Equal("L9.interop-scan", "what a scan shows of planted records", want, sorted(t.Location().MustScan("p/", 3)))
}
