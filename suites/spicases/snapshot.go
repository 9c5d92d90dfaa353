package spicases

import (
	"fmt"
	"maps"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func snapshotCases() []harness.Case {
	cases := []harness.Case{
		locationCase("snapshot/expiry", "A record that expires during a scan stays in its snapshot.", "L5.snapshot",
			snapshotExpiry),
		locationCase("snapshot/expired-before", "A record that expired before the scan stays out of it when it is put again.",
			"L5.snapshot L5.complete", snapshotRecreation),
		locationCase("snapshot/interleaved", "Four scans at once show each its own snapshot.", "L5.snapshot L5.complete",
			snapshotInterleaved),
		locationCase("snapshot/delete-between", "A record that is deleted between two scans is in the first one alone, "+
			"however often it is deleted again.", "L5.snapshot", snapshotDeleteBetween),
		locationCase("snapshot/large", "A snapshot of 1,500 records stays while all of them change.", "L5.snapshot L5.complete",
			snapshotLarge),
		locationCase("snapshot/after-scan", "A finished or abandoned scan leaves the store as it was.", "L5.snapshot L4.version",
			snapshotAfter),
		locationCase("snapshot/changes-by-reference", "A scan shows nothing of what the reference provider changes later.",
			"L5.snapshot L5.complete L9.interop-snapshot", func(t *harness.T) {
				for _, row := range snapshotChanges {
					snapshotCase(t, row, theReference)
				}
			}, theReference.needs...),
	}
	for _, row := range snapshotChanges {
		cases = append(cases, locationCase("snapshot/"+row.slug, row.title+".", "L5.snapshot L5.complete", func(t *harness.T) {
			snapshotCase(t, row, sameInstance)
			snapshotCase(t, row, anotherInstance)
		}))
	}
	return cases
}

// snapshotChange is what may happen to a store while a scan of it is open. It
// gets the keys of the snapshot, of which the first page showed some already.
type snapshotChange struct {
	slug, title string
	mayExpire   bool // the history may be more than a provider has to keep
	change      func(l *harness.Location, keys []spi.Key)
}

var snapshotChanges = []snapshotChange{
	{"put", "A scan does not show keys that are put later", false, func(l *harness.Location, keys []spi.Key) {
		for _, k := range keys {
			seed(l, put(k+"+", "later")) // between the keys of the snapshot
		}
		seed(l, put("a", "later"), put("z", "later"), putFor("z leased", "later", 3_600_000))
	}},
	{"overwrite", "A scan does not show values that are put later", false, func(l *harness.Location, keys []spi.Key) {
		l.MustApply(write(nil, putAll(keys, "later")...))
		for _, k := range keys {
			seed(l, putFor(k, "later still", 3_600_000))
		}
	}},
	{"delete", "A scan shows records that are deleted later", false, func(l *harness.Location, keys []spi.Key) {
		l.MustDelete(keys[:len(keys)/2]...)
		for _, k := range keys[len(keys)/2:] {
			l.MustDelete(k)
		}
	}},
	// Two Deletes may write tombstones that are equal byte for byte, which
	// moves the older one instead of adding one.
	{"delete-twice", "A scan shows records that are deleted twice later", false, func(l *harness.Location, keys []spi.Key) {
		l.MustDelete(keys...)
		l.MustDelete(keys...)
		for _, k := range keys {
			l.MustDelete(k)
		}
	}},
	{"recreate", "A scan shows records as they were before they were deleted and recreated", false,
		func(l *harness.Location, keys []spi.Key) {
			for range 2 {
				l.MustDelete(keys...)
				l.MustApply(write(allMissing(keys), putAll(keys, "recreated")...))
			}
		}},
	// The bytes are the same again, so that only the version and the place in
	// the history differ.
	{"same-bytes", "A scan shows the old version when the same bytes are put later", false,
		func(l *harness.Location, keys []spi.Key) {
			for _, k := range keys {
				seed(l, put(k, "value of "+string(k)))
			}
		}},
	{"many-overwrites", "A scan shows no later value however often a record changes", true,
		func(l *harness.Location, keys []spi.Key) {
			for n := range 150 {
				seed(l, put(keys[0], fmt.Sprint(n)), put(keys[len(keys)-1], fmt.Sprint(n)))
			}
		}},
}

// Every page reads only the snapshot that the first page fixed: later puts,
// deletes and overwrites are invisible, whoever makes them.
func snapshotCase(t *harness.T, row snapshotChange, by client) {
	store := harness.Store{KeyPrefix: t.NewKeyPrefix(row.slug + "-" + by.slug)}
	l := t.Target().OpenLocation(store)
	other := by.open(t, l, store)
	keys := numbered("k", 24)
	puts := make([]spi.Put, len(keys))
	for i, k := range keys {
		puts[i] = put(k, "value of "+string(k))
	}
	want := seed(l, puts...)
	want["k0003"] = seed(l, putFor("k0003", "second value", 3_600_000))["k0003"]
	first := l.MustPage(spi.ScanRequest{Limit: 3})
	row.change(other, keys)
	if first.Next == nil {
		t.Fatalf("L5.complete", "the first page of 3 is the last one of a scan of %d records", len(keys))
	}
	if row.mayExpire {
		resume(t, l, "", want, first)
	} else {
		same(t, "L5.snapshot", row.title+" by "+by.title, want, once(t, l.MustFinish("", 5, first)))
	}

	// A new scan sees what an exact read sees now.
	now := scanned(t, l, "", 1000)
	same(t, "L5.complete", "a new scan after changes by "+by.title, look(l, append(keys, keysOf(now)...)...), now)
}

func keysOf(r records) []spi.Key {
	var keys []spi.Key
	for k := range r {
		keys = append(keys, k)
	}
	return keys
}

// The store is shown as of the first page, so that what was live then stays in
// the snapshot, with the expiry that it had.
func snapshotExpiry(t *harness.T) {
	l := t.Location()
	// Long enough for the first page to come before it on a busy machine; when
	// it does not, the scenario is tried again with more time.
	for retention := 150.0; ; retention *= 4 {
		var puts []spi.Put
		for _, k := range numbered("k", 8) {
			puts = append(puts, putFor(k, "value", retention))
		}
		want := seed(l, puts...)
		first := l.MustPage(spi.ScanRequest{Limit: 2})
		expiresAt := want["k0000"].ExpiresAt
		if first.StoreNow >= expiresAt {
			continue
		}
		awaitExpiry(t, expiresAt)
		seed(l, put("k0007", "later"))
		same(t, "L5.snapshot", "the snapshot after the records have expired", want, once(t, l.MustFinish("", 3, first)))
		same(t, "L5.complete", "a new scan", look(l, "k0007"), scanned(t, l, "", 3))
		return
	}
}

func snapshotRecreation(t *harness.T) {
	l := t.Location()
	old := seed(l, putFor("b", "expired", shortRetention), put("c", "deleted"))
	want := seed(l, put("a", "value"), put("d", "value"), put("e", "value"))
	l.MustDelete("c")
	awaitExpiry(t, old["b"].ExpiresAt)
	first := l.MustPage(spi.ScanRequest{Limit: 1})
	seed(l, put("b", "again"), put("c", "again"))
	same(t, "L5.snapshot", "the snapshot after expired and deleted keys were put again", want,
		once(t, l.MustFinish("", 1, first)))
}

func snapshotInterleaved(t *harness.T) {
	l := t.Location()
	keys := numbered("k", 20)
	var puts []spi.Put
	for _, k := range keys {
		puts = append(puts, put(k, "first"))
	}
	type scan struct {
		want  records
		page  spi.Page
		items []spi.Item
		limit int
	}
	current := seed(l, puts...)
	begin := func(limit int) *scan {
		page := l.MustPage(spi.ScanRequest{Limit: limit})
		return &scan{want: maps.Clone(current), page: page, items: page.Items, limit: limit}
	}
	scans := []*scan{begin(3)}
	maps.Copy(current, seed(l, put(keys[4], "second"), put(keys[19], "second"), put("new", "second")))
	scans = append(scans, begin(2))
	l.MustDelete(keys[5], keys[18])
	delete(current, keys[5])
	delete(current, keys[18])
	scans = append(scans, begin(7), begin(1))
	maps.Copy(current, seed(l, put(keys[4], "third"), put(keys[5], "third")))
	// One page of each in turn.
	for step, open := 0, true; open && step < maxPages; step++ {
		open = false
		for _, s := range scans {
			if s.page.Next == nil {
				continue
			}
			open = true
			s.page = l.MustPage(spi.ScanRequest{Cursor: s.page.Next, Limit: s.limit})
			s.items = append(s.items, s.page.Items...)
		}
	}
	for i, s := range scans {
		same(t, "L5.snapshot", fmt.Sprintf("scan %d of %d", i+1, len(scans)), s.want, once(t, s.items))
	}
	same(t, "L5.complete", "a new scan", current, scanned(t, l, "", 1000))
}

// A Delete of what is deleted already must not take the earlier Delete's place
// in the history, or the value before both returns to the later snapshot.
func snapshotDeleteBetween(t *harness.T) {
	l := t.Location()
	want := seed(l, put("a", "value"), put("b", "value"), put("c", "value"), put("d", "value"))
	before := l.MustPage(spi.ScanRequest{Limit: 1})
	l.MustDelete("b", "c", "d")
	after := l.MustPage(spi.ScanRequest{Limit: 1})
	l.MustDelete("b", "c", "d")
	seed(l, put("c", "again"))
	l.MustDelete("c")
	l.MustDelete("d")
	same(t, "L5.snapshot", "the snapshot from after the first Delete", records{"a": want["a"]},
		once(t, l.MustFinish("", 1, after)))
	same(t, "L5.snapshot", "the snapshot from before the Deletes", want, once(t, l.MustFinish("", 1, before)))
}

func snapshotLarge(t *harness.T) {
	l := instances(t, 2)
	keys := numbered("k", 1500)
	var puts []spi.Put
	for _, k := range keys {
		puts = append(puts, put(k, "value of "+string(k)))
	}
	want := seed(l[0], puts...)
	first := l[0].MustPage(spi.ScanRequest{Prefix: "k", Limit: 100})
	l[1].MustApply(write(nil, putAll(keys[:1000], "later")...))
	l[1].MustDelete(keys[500:]...)
	l[1].MustApply(write(nil, putAll(numbered("k0", 1000), "later")...))
	same(t, "L5.snapshot", "the snapshot after all records have changed", want, once(t, l[0].MustFinish("k", 1000, first)))
}

// A scan is a read: neither its end nor its being abandoned changes records,
// versions or what later writes do.
func snapshotAfter(t *harness.T) {
	l := t.Location()
	want := mixture(t, l, "k", 40)
	for range 3 {
		l.MustPage(spi.ScanRequest{Limit: 1}) // never continued
	}
	scanned(t, l, "k", 3)
	keys := numbered("k", 40)
	same(t, "L5.snapshot", "reads after scans", want, look(l, keys...))
	for k, v := range want {
		a := l.MustApply(write(given(ifVersion(k, v.Version)), put(k, "after")))
		want[k] = spi.Value{Bytes: []byte("after"), Version: versionsOf(a)[k]}
	}
	same(t, "L5.snapshot", "reads after later writes", want, look(l, keys...))
	same(t, "L5.complete", "a scan after later writes", want, scanned(t, l, "", 1000))
}
