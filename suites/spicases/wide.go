package spicases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/kit"
)

// wideCases are batches of 2,048 keys. A provider that works through them in
// slices loses what stands at the edge of one.
func wideCases() []harness.Case {
	cases := []harness.Case{
		locationCase("wide/condition-positions",
			"Of up to 2,048 conditions a false one counts on both sides of each edge at which a provider may cut them.",
			"L4.all-or-nothing", func(t *harness.T) { conditionPositions(t, sliceEdges, wideConditions) }),
		locationCase("wide/value-positions",
			"Of up to 2,048 conditions on values a false one counts on both sides of each edge at which a provider may cut them.",
			"L4.all-or-nothing L4.value", func(t *harness.T) {
				conditionPositions(t, []int{256, 500, 512, 1000, 1024, 1500, 1536, 2000}, wideValueConditions)
			}, harness.Need(targets.CapValueCondition)),
		locationCase("wide/puts",
			"Each of 2,048 Puts of a batch is there afterwards, new and over old values.", "L4.put L4.applied", widePuts),
		locationCase("wide/mixed", "Each of 2,048 Puts and Deletes of a batch is carried out.", "L4.delete L4.put", wideMixed),
	}
	for i := range cases {
		cases[i] = unhurried(cases[i])
	}
	return cases
}

// unhurried is a case of much data, which takes seconds where Redis is slow or
// pages are small.
func unhurried(c harness.Case) harness.Case {
	c.Timeout = 4 * time.Minute
	return kit.Slow(c)
}

// sliceEdges are where the slices begin in which a provider may work through
// 2,048 keys: multiples of round numbers and powers of two.
var sliceEdges = []int{50, 64, 100, 128, 200, 256, 300, 333, 400, 500, 512, 600, 666, 700, 750, 768, 800, 900, 1000, 1024,
	1200, 1280, 1400, 1500, 1536, 1600, 1792, 1800, 1998, 2000}

// positions are the first and the last of all, those on both sides of each
// edge, and a few that no rule names.
func positions(t *harness.T, edges []int) []int {
	at := []int{0, spi.MaxBatchKeys - 1}
	for _, edge := range edges {
		at = append(at, edge-1, edge)
	}
	for range 4 {
		at = append(at, t.Rand().IntN(spi.MaxBatchKeys))
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// wideValue is what a key of a wide batch holds; it has none if it is absent.
func wideValue(i int) string { return "value " + strconv.Itoa(i) }

// wideConditions are Version on each live key and Missing on each absent one.
func wideConditions(keys []spi.Key, stored records) (hold, fail []spi.Condition) {
	for i, k := range keys {
		if v, live := stored[k]; live {
			hold = append(hold, spi.VersionCondition{Key: k, Expected: v.Version})
			if i%8 == 0 {
				fail = append(fail, spi.MissingCondition{Key: k})
			} else {
				fail = append(fail, spi.VersionCondition{Key: k, Expected: altered(v.Version)})
			}
		} else {
			hold = append(hold, spi.MissingCondition{Key: k})
			fail = append(fail, spi.VersionCondition{Key: k, Expected: "never issued"})
		}
	}
	return hold, fail
}

// wideValueConditions are Value on live keys and Missing on absent ones.
func wideValueConditions(keys []spi.Key, stored records) (hold, fail []spi.Condition) {
	for i, k := range keys {
		if _, live := stored[k]; live {
			hold = append(hold, spi.ValueCondition{Key: k, Expected: []byte(wideValue(i))})
		} else {
			hold = append(hold, spi.MissingCondition{Key: k})
		}
		fail = append(fail, spi.ValueCondition{Key: k, Expected: []byte(wideValue(i + 1))})
	}
	return hold, fail
}

// One false condition among many is a Conflict wherever it stands. Nothing
// changes between the requests, so each of them has one reason to fail.
func conditionPositions(t *harness.T, edges []int, conditions func(keys []spi.Key, stored records) (hold, fail []spi.Condition)) {
	const beyond = 100 // conditions behind the false one, which hold
	l := t.Location()
	keys := numbered("k", spi.MaxBatchKeys)
	var live []spi.Put
	for i := 0; i < len(keys); i += 4 { // so few that versions of 4,096 bytes stay within 4 MiB together
		live = append(live, put(keys[i], wideValue(i)))
	}
	hold, fail := conditions(keys, seed(l, live...))
	// Its key is in the conditions too, as the bound of 2,048 keys demands.
	canary := put(keys[1], "new")
	for _, at := range positions(t, edges) {
		request := slices.Clone(hold[:min(at+1+beyond, len(hold))])
		request[at] = fail[at]
		if r := l.MustWrite(write(request, canary)); !isWriteConflict(r) {
			t.Fatalf("L4.all-or-nothing", "a batch of which condition %d of %d is false answered %s", at+1, len(request),
				harness.Describe(r))
		}
	}
	l.MustMiss(canary.Key)
	l.MustApply(write(hold, canary)) // nothing else was in the way
}

func isWriteConflict(r spi.WriteResult) bool {
	_, ok := r.(spi.Conflict)
	return ok
}

// readEach reads the keys one by one, by several instances at once.
func readEach(t *harness.T, keys []spi.Key) records {
	l := instances(t, 4)
	parts := make([]records, len(l))
	t.Concurrently(len(l), func(i int) {
		parts[i] = look(l[i], keys[i*len(keys)/len(l):(i+1)*len(keys)/len(l)]...)
	})
	all := records{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// wideMutations are puts of which each key has a value of its own.
func wideMutations(keys []spi.Key, round int) []spi.Mutation {
	mutations := make([]spi.Mutation, len(keys))
	for i, k := range keys {
		mutations[i] = put(k, fmt.Sprintf("round %d, value %d", round, i))
	}
	return mutations
}

// A write that applies carries out every mutation, and names the version that
// each Put was issued.
func widePuts(t *harness.T) {
	keys := numbered("k", spi.MaxBatchKeys)
	want := records{}
	for round := range 2 {
		w := write(nil, wideMutations(keys, round)...)
		a := t.Location().MustApply(w)
		t.Equal("L4.applied", "the number of versions in Applied", len(keys), len(versionsOf(a)))
		apply(want, w, a)
		same(t, "L4.put", fmt.Sprintf("a scan after round %d of %d Puts", round+1, len(keys)), want, scanned(t, t.Location(),
			"", spi.MaxScanLimit))
	}
	same(t, "L4.put", "reads one by one", want, readEach(t, keys))
}

// Each position is a Delete in one round and a Put in the other, over what the
// round before has left there.
func wideMixed(t *harness.T) {
	keys := numbered("k", spi.MaxBatchKeys)
	want := records{}
	fill := write(nil, wideMutations(keys, 0)...)
	apply(want, fill, t.Location().MustApply(fill))
	for round := range 2 {
		mixed := write(nil, wideMutations(keys, round+1)...)
		for i := round; i < len(keys); i += 2 {
			mixed.Mutations[i] = spi.Delete{Key: keys[i]}
		}
		apply(want, mixed, t.Location().MustApply(mixed))
		same(t, "L4.delete", "a scan after a batch of Puts and Deletes in turn", want, scanned(t, t.Location(), "",
			spi.MaxScanLimit))
	}
	same(t, "L4.delete", "reads one by one", want, readEach(t, keys))
}
