package spicases

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func atomicityCases() []harness.Case {
	cases := []harness.Case{
		locationCase("atomicity/two-false-conditions", "Two false conditions are a Conflict as one is.", "L4.all-or-nothing",
			twoFalse),
		locationCase("atomicity/pair-reads", "Who has read a new value reads the rest of the batch as new too.",
			"L4.isolation L2.observation", pairReads),
		locationCase("atomicity/pair-scans", "A scan shows all or nothing of a batch, also over several pages.",
			"L4.isolation L5.snapshot", pairScans),
		locationCase("atomicity/pair-creation", "A scan shows keys that are created and deleted together, together.",
			"L4.isolation L5.snapshot", pairCreation),
		locationCase("atomicity/pair-conditions", "Conditions of one batch look at one moment.", "L4.isolation L4.version",
			pairConditions),
		locationCase("atomicity/wide-scans", "A scan shows all or nothing of a batch of 300 keys.", "L4.isolation L5.snapshot",
			wideScans),
		locationCase("atomicity/no-lost-update", "Increments under a Version condition are never lost.",
			"L4.version L4.isolation",
			noLostUpdate),
		locationCase("atomicity/one-creator", "Of many who create the same missing key, one succeeds.", "L4.missing L4.isolation",
			oneCreator),
		locationCase("atomicity/transfers", "Overlapping batches keep the sum over the keys that they change.",
			"L4.isolation L4.all-or-nothing", transfers),
	}
	for _, row := range falseConditions {
		cases = append(cases, locationCase("atomicity/false-"+row.slug, row.title+".", "L4.all-or-nothing",
			func(t *harness.T) { falseCondition(t, row.at, row.version) }))
	}
	return cases
}

// falseConditions are batches of 2,048 keys in which just one condition fails.
var falseConditions = []struct {
	slug, title string
	at          int
	version     bool // a Version condition instead of a Missing one
}{
	{"first-of-2048", "One false condition, the first of 2,048, changes nothing", 0, false},
	{"middle-of-2048", "One false condition in the middle of 2,048 changes nothing", spi.MaxBatchKeys / 2, false},
	{"last-of-2048", "One false condition, the last of 2,048, changes nothing", spi.MaxBatchKeys - 1, false},
	{"last-version-of-2048", "One outdated version, the last of 2,048 conditions, changes nothing", spi.MaxBatchKeys - 1, true},
}

// Every condition is checked first. If even one is false, mutations and
// version changes are zero. The mutations cover all kinds, and a key whose
// retention must not move.
func falseCondition(t *harness.T, at int, version bool) {
	l := t.Location()
	keys := numbered("k", spi.MaxBatchKeys)
	stored := seed(l, put(keys[at], "obstacle"))
	conditions := allMissing(keys)
	if version {
		conditions[at] = ifVersion(keys[at], stored[keys[at]].Version)
		stored = seed(l, put(keys[at], "obstacle, newer"))
	}
	// The request holds for every other key, so each of its mutations would be allowed.
	mutations := putAll(keys, "new")
	mutations[1] = del(keys[1])
	mutations[at] = del(keys[at])
	l.MustConflict(write(conditions, mutations...))
	same(t, "L4.all-or-nothing", "after the Conflict", stored, scanned(t, l, "", spi.MaxScanLimit))

	// Without the obstacle, a batch like it applies: the condition was the only reason.
	conditions[at] = ifVersion(keys[at], stored[keys[at]].Version)
	l.MustApply(write(conditions, mutations[at]))
}

func twoFalse(t *harness.T) {
	l := t.Location()
	want := seed(l, put("a", "old"), putFor("b", "old", 3_600_000), put("c", "old"))
	old := ifVersion("c", want["c"].Version)
	want["c"] = seed(l, put("c", "newer"))["c"]
	for _, conditions := range [][]spi.Condition{
		given(ifMissing("a"), old),
		given(old, ifMissing("a")),
		given(ifMissing("d"), old, ifMissing("a"), ifMissing("e")),
	} {
		l.MustConflict(write(conditions, put("a", "new"), putFor("b", "new", 1000), del("c"), put("d", "new")))
		same(t, "L4.all-or-nothing", "after the Conflict", want, look(l, "a", "b", "c", "d", "e"))
	}
}

// pairWriter writes one number to all keys in one batch, for n times.
func pairWriter(l *harness.Location, keys []spi.Key, n int) func() {
	return func() {
		for i := range n {
			l.MustApply(write(nil, putAll(keys, strconv.Itoa(i+1))...))
		}
	}
}

func number(t *harness.T, requirement string, b []byte) int {
	n, err := strconv.Atoi(string(b))
	if err != nil {
		t.Fatalf(requirement, "a read returned %.40q, which nobody wrote", b)
	}
	return n
}

// No other caller can observe the intermediate state of a commit: once one key
// shows the n-th batch, the others show it or a later one.
func pairReads(t *harness.T) {
	l := instances(t, 3)
	keys := []spi.Key{"left", "right"}
	l[0].MustApply(write(nil, putAll(keys, "0")...))
	reader := func(l *harness.Location, a, b spi.Key) func() {
		return func() {
			seen := number(t, "L4.isolation", l.MustFind(a).Value.Bytes)
			then := number(t, "L4.isolation", l.MustFind(b).Value.Bytes)
			if then < seen {
				t.Fatalf("L4.isolation", "%s showed batch %d, and after that %s showed only batch %d", a, seen, b, then)
			}
		}
	}
	during(t, pairWriter(l[0], keys, 150), reader(l[1], "left", "right"), reader(l[2], "right", "left"))
}

// equalValues checks that a snapshot shows the same batch under all keys.
func equalValues(t *harness.T, items []spi.Item, keys int) {
	for _, i := range items {
		if string(i.Value.Bytes) != string(items[0].Value.Bytes) {
			t.Fatalf("L4.isolation", "one snapshot shows batch %s under %q and batch %s under %q", items[0].Value.Bytes,
				items[0].Key, i.Value.Bytes, i.Key)
		}
	}
	if len(items) != keys {
		t.Fatalf("L4.isolation", "a snapshot shows %d of %d keys that live together", len(items), keys)
	}
}

func pairScans(t *harness.T) {
	l := instances(t, 3)
	keys := []spi.Key{"left", "right"}
	l[0].MustApply(write(nil, putAll(keys, "0")...))
	scanner := func(l *harness.Location, limit int) func() {
		return func() { equalValues(t, l.MustScan("", limit), 2) }
	}
	during(t, pairWriter(l[0], keys, 80), scanner(l[1], 1), scanner(l[2], 10))
}

func pairCreation(t *harness.T) {
	l := instances(t, 3)
	keys := []spi.Key{"left", "middle", "right"}
	scanner := func(l *harness.Location, limit int) func() {
		return func() {
			if items := l.MustScan("", limit); len(items) > 0 {
				equalValues(t, items, len(keys))
			}
		}
	}
	during(t, func() {
		for n := range 40 {
			l[0].MustApply(write(allMissing(keys), putAll(keys, strconv.Itoa(n))...))
			l[0].MustDelete(keys...)
		}
	}, scanner(l[1], 1), scanner(l[2], 10))
}

// Version conditions on two keys hold together only for versions that were
// current at the same moment, and so of the same batch.
func pairConditions(t *harness.T) {
	l := instances(t, 2)
	keys := []spi.Key{"left", "right"}
	l[0].MustApply(write(nil, putAll(keys, "0")...))
	during(t, pairWriter(l[0], keys, 150), func() {
		left, right := l[1].MustFind("left").Value, l[1].MustFind("right").Value
		check := write(given(ifVersion("left", left.Version),
			ifVersion("right", right.Version)))
		if _, applied := l[1].MustWrite(check).(spi.Applied); applied && string(left.Bytes) != string(right.Bytes) {
			t.Fatalf("L4.isolation", "the versions of batch %s and batch %s held at once", left.Bytes, right.Bytes)
		}
	})
}

func wideScans(t *harness.T) {
	l := instances(t, 2)
	keys := numbered("k", 300)
	l[0].MustApply(write(nil, putAll(keys, "0")...))
	during(t, pairWriter(l[0], keys, 15), func() { equalValues(t, l[1].MustScan("k", 70), len(keys)) })
}

// maxTries ends a loop of conditional writes that gets nowhere: with the few
// writers of a case, one of them succeeds in every round.
const maxTries = 2000

// retry repeats a conditional write until it applies. Between two reads of one
// version nothing has changed, since versions never return, so that a Conflict
// between them is wrong.
func retry(t *harness.T, l *harness.Location, keys []spi.Key, change func(records) []spi.Mutation) spi.Applied {
	var before records
	for range maxTries {
		current := look(l, keys...)
		if before != nil && !slices.ContainsFunc(keys, func(k spi.Key) bool { return current[k].Version != before[k].Version }) {
			t.Fatalf("L4.version", "a Conflict although the versions are the expected ones still")
		}
		var conditions []spi.Condition
		for _, k := range keys {
			if v, ok := current[k]; ok {
				conditions = append(conditions, ifVersion(k, v.Version))
			} else {
				conditions = append(conditions, ifMissing(k))
			}
		}
		if a, ok := l.MustWrite(write(conditions, change(current)...)).(spi.Applied); ok {
			return a
		}
		before = current
	}
	t.Fatalf("L4.version", "no conditional write got through in %d tries", maxTries)
	return spi.Applied{}
}

// A write under the version that was read is an increment that nobody else can
// undo unknowingly.
func noLostUpdate(t *harness.T) {
	const writers, increments = 4, 20
	l := instances(t, writers)
	t.Concurrently(writers, func(i int) {
		for range increments {
			retry(t, l[i], []spi.Key{"counter"}, func(r records) []spi.Mutation {
				n := 0
				if v, ok := r["counter"]; ok {
					n = number(t, "L4.version", v.Bytes)
				}
				return []spi.Mutation{put("counter", strconv.Itoa(n+1))}
			})
		}
	})
	t.Equal("L4.version", "the counter", writers*increments, number(t, "L4.version", l[0].MustFind("counter").Value.Bytes))
}

// Missing(key) holds for one of many concurrent creators, whether the key
// never existed or was deleted.
func oneCreator(t *harness.T) {
	const writers, rounds = 6, 15
	l := instances(t, writers)
	for round := range rounds {
		k := spi.Key(fmt.Sprintf("k%d", round/3)) // the later rounds find it deleted
		l[0].MustDelete(k)
		var winners atomic.Int32
		var mu sync.Mutex
		want := records{}
		t.Concurrently(writers, func(i int) {
			value := fmt.Sprintf("by writer %d", i)
			if a, ok := l[i].MustWrite(write(given(ifMissing(k)), put(k, value))).(spi.Applied); ok {
				winners.Add(1)
				mu.Lock()
				defer mu.Unlock()
				want[k] = spi.Value{Bytes: []byte(value), Version: versionsOf(a)[k]}
			}
		})
		if !t.Checkf(winners.Load() == 1, "L4.missing", "%d of %d writers created the missing key %s", winners.Load(), writers,
			k) {
			return
		}
		same(t, "L4.isolation", "after the creation", want, look(l[0], k))
	}
}

// Batches that overlap in one key keep the sum over all keys, at the end and
// in every snapshot.
func transfers(t *harness.T) {
	const start = 100
	l := instances(t, 4)
	keys := []spi.Key{"a", "b", "c"}
	l[3].MustApply(write(nil, putAll(keys, strconv.Itoa(start))...))
	transfer := func(l *harness.Location, from, to spi.Key) {
		retry(t, l, []spi.Key{from, to}, func(r records) []spi.Mutation {
			return []spi.Mutation{
				put(from, strconv.Itoa(number(t, "L4.isolation", r[from].Bytes)-1)),
				put(to, strconv.Itoa(number(t, "L4.isolation", r[to].Bytes)+1)),
			}
		})
	}
	sum := func() {
		total := 0
		for _, i := range l[3].MustScan("", 2) {
			total += number(t, "L4.isolation", i.Value.Bytes)
		}
		if total != start*len(keys) {
			t.Fatalf("L4.isolation", "a snapshot shows a sum of %d, and no commit changes it from %d", total, start*len(keys))
		}
	}
	during(t, func() {
		t.Concurrently(3, func(i int) {
			for range 15 {
				transfer(l[i], keys[i], keys[(i+1)%3])
			}
		})
	}, sum)
	sum()
}
