package redislayout

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// strangeCases: well-formed state in an order, at a score or in a place that a
// careless provider does not reckon with.
func strangeCases() []harness.Case {
	return []harness.Case{
		locationCase("strange/version-order", "The member with the highest score counts, whatever order the "+
			"versions of the members have.", "L9.zset", versionOrder),
		locationCase("strange/score-above", "A write over a member with a score above the sequence is refused, or "+
			"shown by the next read.", "L9.score-above", scoreAbove),
		locationCase("strange/row-without-record",
			"A row of the index without a record is no record, and the scan goes on behind it.",
			"L9.interop-scan L6.failure-scope", rowWithoutRecord),
		locationCase("strange/another-key", "A member that holds another record's key is never answered as this record's value.",
			"L9.foreign-key", anotherKey),
	}
}

// The member with the highest score is current. Versions are opaque: their
// order says nothing, be they numbers or not.
func versionOrder(t *harness.T) {
	for i, versions := range [][]string{{"9", "3"}, {"9", "10"}, {"10", "9"}, {"z", "a"}, {"a", "z"}, {"long-version", "v"},
		{"9007199254740993", "9007199254740992"}} {
		var m layout.Member
		for n, version := range versions {
			m = layout.Member{Key: fmt.Sprint("p/", i), Value: fmt.Appendf(nil, "value %d", n), Version: version}
			raw.On(t).PutMember(m)
		}
		found(t, "L9.zset", m)
		key := spi.Key(m.Key)
		for n, version := range versions {
			r := t.Location().MustWrite(write(given(ifVersion(key, spi.Version(version)))))
			_, applied := r.(spi.Applied)
			t.Checkf(applied == (n == 1), "L9.zset", "of the versions %q in the order of scores, a condition on %q answered %s",
				versions, version, harness.Describe(r))
		}
		items := t.Location().MustScan(m.Key, 10)
		if t.Checkf(len(items) == 1, "L9.zset", "a scan shows %d records, expected 1", len(items)) {
			t.EqualBytes("L9.zset", fmt.Sprintf("the value that a scan shows of the versions %q in the order of scores",
				versions), m.Value, items[0].Value.Bytes)
		}
	}
}

func scoreAbove(t *harness.T) {
	store, old := t.Location(), []byte("old")
	for i, mutation := range []spi.Mutation{put("k0", "new"), del("k1")} {
		key := mutation.MutationKey()
		raw.On(t).PutMember(layout.Member{Key: string(key), Value: []byte("below"), Version: "other-1"})
		member := layout.EncodeMember(nil, layout.Member{Key: string(key), Value: old, Version: "other-2"})
		record := layout.RecordKey(t.KeyPrefix(), string(key))
		raw.Must(t.Redis().ZAdd(t.Context(), record,
			redis.Z{Score: raw.On(t).Current(key).Score + 1_000_000, Member: member}).Result())(t, "ZADD")
		t.EqualBytes("L9.score-above", "the value with the highest score", old, store.MustFind(key).Value.Bytes)
		r, err := store.Write(t.Context(), write(nil, mutation))
		f, live := store.MustRead(key).(spi.Found)
		switch {
		case err != nil:
			t.ErrorKind("L9.score-above", "a write over a score above the sequence", err, spi.KindStoreFailure)
			t.Checkf(live && string(f.Value.Bytes) == string(old), "L9.score-above",
				"after a write that was refused %q is not what it was", key)
		case i == 0:
			t.Checkf(live && string(f.Value.Bytes) == "new", "L9.score-above", "a Put answered %s, and then a read %s",
				harness.Describe(r), harness.Describe(store.MustRead(key)))
		default:
			t.Checkf(!live, "L9.score-above", "a Delete answered %s, and then a read %s", harness.Describe(r),
				harness.Describe(f))
		}
	}
}

// A deleted record's key may be gone, so a row may outlive it for a while.
func rowWithoutRecord(t *harness.T) {
	store := t.Location()
	for _, key := range []spi.Key{"p/1", "p/3", "p/5"} {
		store.MustPut(key, []byte("v"), nil)
	}
	for _, key := range []spi.Key{"p/0", "p/2", "p/4", "p/6"} {
		raw.On(t).Register(key)
	}
	for _, limit := range []int{10, 1} {
		var shown []spi.Key
		request := spi.ScanRequest{Prefix: "p/", Limit: limit}
		for range 20 {
			r, err := store.Scan(t.Context(), request)
			if err != nil {
				t.Fatalf("L6.failure-scope", "a scan over a row without a record failed: %v", err)
			}
			page, ok := r.(spi.Page)
			if !ok {
				t.Fatalf("L9.interop-scan", "a scan over a row without a record answered %s", harness.Describe(r))
			}
			for _, item := range page.Items {
				shown = append(shown, item.Key)
			}
			if request.Cursor = page.Next; page.Next == nil {
				break
			}
		}
		t.Equal("L9.interop-scan", "what a scan shows among rows without a record", []spi.Key{"p/1", "p/3", "p/5"}, shown)
	}
	store.MustMiss("p/2")
	store.MustApply(write(given(ifMissing("p/2")), put("p/2", "v")))
	t.Checkf(len(store.MustScan("p/", 10)) == 4, "L9.interop-scan",
		"a record that was put where a row stood without one is not in the scan")
}

// anotherKey leaves open how a provider fails.
func anotherKey(t *harness.T) {
	store := t.Location()
	theirs := layout.Member{Key: "theirs", Value: []byte("their value"), Version: "other-1"}
	raw.On(t).Put("mine", layout.EncodeMember(nil, theirs))
	if r, err := store.Read(t.Context(), "mine"); err == nil {
		f, ok := r.(spi.Found)
		t.Checkf(!ok, "L9.foreign-key", "reading a key whose record holds another key answered %s", harness.Describe(f))
	}
	r, err := store.Write(t.Context(), gated(ifVersion("mine", spi.Version(theirs.Version)), "beside"))
	if _, applied := r.(spi.Applied); err == nil && applied {
		t.Failf("L9.foreign-key", "the version of another record's member held as that of %q", "mine")
	}
	page, err := store.Scan(t.Context(), spi.ScanRequest{Limit: 10})
	if p, ok := page.(spi.Page); err == nil && ok {
		for _, item := range p.Items {
			t.Checkf(string(item.Value.Bytes) != string(theirs.Value), "L9.foreign-key",
				"a scan shows another record's value under %q", item.Key)
		}
	}
}
