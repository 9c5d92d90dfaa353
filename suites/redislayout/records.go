package redislayout

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// recordCases: the sorted set and its scores, tombstones (L9.zset, L9.tombstone).
func recordCases() []harness.Case {
	return []harness.Case{
		locationCase("record/zset", "A record is a sorted set without a native Redis expiry, also when "+
			"its value has a retention.", "L9.interop-snapshot L9.zset", sortedSet),
		locationCase("record/score-grows", "Each Put of a key is the member with the highest score and "+
			"above all scores before it.", "L9.zset L9.member", scoreGrows),
		locationCase("record/score-across-keys",
			"The scores of one commit are above those of all commits before it, whichever keys they changed.", "L9.zset",
			scoreAcrossKeys),
		locationCase("record/score-after-recreation", "A key that was deleted and put again gets a score above all that it had.",
			"L9.zset", scoreAfterRecreation),
		locationCase("record/two-instances", "Two instances of the provider take their scores from one counter.", "L9.zset",
			twoInstances),
		locationCase("record/conflict-writes-nothing", "A Conflict leaves the record's Redis key as it was.",
			"L4.all-or-nothing L9.zset", conflictWritesNothing),
		locationCase("tombstone/deleted", "After a Delete the current member is an empty tombstone with a version, or "+
			"the record's key is gone.", "L9.tombstone L9.member", deletedTombstone),
		locationCase("tombstone/open-snapshot", "A Delete under an open scan leaves an empty tombstone, if "+
			"anything, and the scan whole.", "L9.tombstone L9.member L5.complete", tombstoneUnderScan),
		locationCase("tombstone/recreated", "A Put after a Delete is a member without the tombstone flag.",
			"L9.tombstone L9.zset", recreated),
	}
}

func sortedSet(t *harness.T) {
	keys := raw.On(t)
	t.Location().MustPut("durable", []byte("v"), nil)
	t.Location().MustPut("brief", []byte("v"), spi.For(hour))
	for _, key := range []spi.Key{"durable", "brief"} {
		keys.Current(key)
		ttl := raw.Must(t.Redis().PTTL(t.Context(), layout.RecordKey(t.KeyPrefix(), string(key))).Result())(t, "PTTL")
		t.Checkf(ttl < 0, "L9.interop-snapshot",
			"the record of %q expires natively in %v, so that Redis takes it from under open snapshots", key, ttl)
	}
}

func scoreGrows(t *harness.T) {
	keys, last := raw.On(t), 0.0
	for i := range 20 {
		value := fmt.Appendf(nil, "value %d", i)
		version := t.Location().MustPut("k", value, nil)
		e := keys.Current("k")
		t.Checkf(e.Score > last, "L9.zset", "the score of Put %d is %.0f, not above %.0f of the one before", i, e.Score, last)
		t.EqualBytes("L9.zset", fmt.Sprintf("the value of the member with the highest score after Put %d", i), value,
			e.Member.Value)
		t.Checkf(e.Member.Version == string(version), "L9.member", "the member's version is %q, but the Put answered %q",
			e.Member.Version, version)
		last = e.Score
	}
}

func scoreAcrossKeys(t *harness.T) {
	keys, last := raw.On(t), 0.0
	for i := range 6 {
		a, b := spi.Key(fmt.Sprintf("a%d", i)), spi.Key(fmt.Sprintf("b%d", i%2))
		t.Location().MustApply(write(nil, put(a, "v"), put(b, "v")))
		ea, eb := keys.Current(a), keys.Current(b)
		t.Checkf(min(ea.Score, eb.Score) > last, "L9.zset",
			"commit %d has the scores %.0f and %.0f, not above %.0f of the one before", i, ea.Score, eb.Score, last)
		last = max(ea.Score, eb.Score)
	}
}

func scoreAfterRecreation(t *harness.T) {
	keys, last := raw.On(t), 0.0
	for i := range 4 {
		t.Location().MustPut("k", []byte("v"), nil)
		e := keys.Current("k")
		t.Checkf(e.Score > last, "L9.zset", "the score after deletion %d is %.0f, not above %.0f", i, e.Score, last)
		t.Location().MustDelete("k")
		last = e.Score
		if tomb, ok := keys.Newest("k"); ok {
			t.Checkf(tomb.Score > last, "L9.zset", "the tombstone's score %.0f is not above %.0f of the Put before", tomb.Score,
				last)
			last = tomb.Score
		}
	}
}

func twoInstances(t *harness.T) {
	other := t.Target().OpenLocation(harness.Store{})
	keys, last := raw.On(t), 0.0
	for i := range 8 {
		store := t.Location()
		if i%3 == 1 {
			store = other
		}
		store.MustPut("k", fmt.Appendf(nil, "value %d", i), nil)
		e := keys.Current("k")
		t.Checkf(e.Score > last, "L9.zset", "the score of Put %d is %.0f, not above %.0f of the one before", i, e.Score, last)
		last = e.Score
	}
}

func conflictWritesNothing(t *harness.T) {
	keys := raw.On(t)
	store := t.Location()
	v := store.MustPut("k", []byte("v"), nil)
	before := keys.Current("k")
	store.MustConflict(write(given(ifVersion("k", v), ifVersion("absent", v)), put("k", "w"), put("new", "w")))
	after := keys.Current("k")
	t.EqualBytes("L4.all-or-nothing", "the current member after a Conflict", before.Bytes, after.Bytes)
	t.Checkf(before.Score == after.Score, "L4.all-or-nothing", "the score went from %.0f to %.0f by a Conflict", before.Score,
		after.Score)
	_, there := keys.Newest("new")
	t.Checkf(!there, "L4.all-or-nothing", "a Conflict left a record of a key that it was to put")
}

// checkTombstone checks a deleted record, which may be gone.
func checkTombstone(t *harness.T, key spi.Key) {
	e, there := raw.On(t).Newest(key)
	if !there {
		return
	}
	m := e.Member
	t.Checkf(m.Tombstone, "L9.tombstone", "the current member of the deleted %q is no tombstone", key)
	t.Checkf(len(m.Value) == 0, "L9.tombstone", "the tombstone of %q keeps a value of %d bytes", key, len(m.Value))
	t.Checkf(m.Version != "", "L9.tombstone", "the tombstone of %q has no version", key)
	t.Checkf(m.Key == string(key), "L9.member", "the tombstone of %q names the key %q", key, m.Key)
	t.EqualBytes("L9.member", fmt.Sprintf("the tombstone of %q, beside the one that Redis's cmsgpack writes,", key),
		raw.On(t).Pack(m), e.Bytes)
}

func deletedTombstone(t *harness.T) {
	store := t.Location()
	store.MustPut("k", []byte("value"), nil)
	store.MustPut("brief", []byte("value"), spi.For(hour))
	store.MustPut("in batch", []byte("value"), nil)
	store.MustDelete("k")
	store.MustDelete("brief")
	store.MustApply(write(nil, put("beside", "v"), del("in batch")))
	for _, key := range []spi.Key{"k", "brief", "in batch"} {
		checkTombstone(t, key)
	}
	store.MustDelete("k") // again
	checkTombstone(t, "k")
}

func tombstoneUnderScan(t *harness.T) {
	store := t.Location()
	for i := range 4 {
		store.MustPut(spi.Key(fmt.Sprint(i)), []byte("value"), nil)
	}
	first := store.MustPage(spi.ScanRequest{Limit: 1})
	store.MustDelete("3", "0")
	if first.Next == nil {
		t.Fatalf("L5.complete", "the first page of a scan over four records with limit 1 is the last one")
	}
	checkTombstone(t, "3")
	items := store.MustFinish("", 1, first)
	t.Checkf(len(items) == 4, "L9.tombstone", "the scan shows %d records, expected the 4 that were there at its first page",
		len(items))
}

func recreated(t *harness.T) {
	store := t.Location()
	store.MustPut("k", []byte("old"), nil)
	store.MustDelete("k")
	store.MustPut("k", nil, nil)
	e := raw.On(t).Current("k")
	t.Checkf(!e.Member.Tombstone, "L9.tombstone", "an empty value that was put after a Delete is stored as a tombstone")
	t.Checkf(len(store.MustFind("k").Value.Bytes) == 0, "L9.tombstone", "the empty value does not come back empty")
}
