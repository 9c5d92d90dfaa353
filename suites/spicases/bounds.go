package spicases

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func boundCases() []harness.Case {
	return []harness.Case{
		locationCase("bounds/keys-2048", "A batch of 2,048 keys applies as one commit.", "L4.key-bound L4.applied", keys2048),
		locationCase("bounds/keys-shared", "A key in a condition and in a mutation counts once.", "L4.key-bound", keysShared),
		locationCase("bounds/keys-2049", "A batch of 2,049 keys is an argument error.", "L4.key-bound", keys2049),
		locationCase("bounds/bytes-accepted", "A batch of 4 MiB less 64 KiB applies.", "L4.byte-bound", bytesAccepted),
		locationCase("bounds/bytes-long-keys", "2,048 keys of 1,024 bytes fit in one batch.", "L4.byte-bound L4.key-bound",
			bytesLongKeys),
		locationCase("bounds/bytes-refused", "A batch above 4 MiB is an argument error, whatever its bytes are made of.",
			"L4.byte-bound", bytesRefused),
		locationCase("bounds/bytes-refused-value-conditions", "Expected bytes of Value conditions count towards the 4 MiB.",
			"L4.byte-bound L4.value", bytesRefusedValueConditions, harness.Need(targets.CapValueCondition)),
		locationCase("bounds/duplicate-mutations", "Two mutations of one key are an argument error.", "L4.duplicates",
			duplicates(duplicateMutations)),
		locationCase("bounds/duplicate-conditions", "Two conditions on one key are an argument error.", "L4.duplicates",
			duplicates(duplicateConditions)),
		locationCase("bounds/duplicates-near-equal", "Keys that are nearly equal are no duplicates.",
			"L4.duplicates L3.key-identity", nearDuplicates),
		locationCase("bounds/retention-not-positive", "A retention of zero or less is an argument error.", "L4.retention",
			retentionNotPositive),
		locationCase("bounds/retention-fraction", "A fraction of a millisecond is a retention, and never becomes none.",
			"L4.retention", retentionFraction),
		locationCase("bounds/burst", "256 Puts of one key in quick succession all apply.", "L4.burst L3.version-fresh", burst),
		locationCase("bounds/burst-concurrent", "256 Puts of one key by several instances at once all apply.",
			"L4.burst L3.version-fresh", burstConcurrent),
		locationCase("bounds/burst-under-snapshot", "256 Puts of one key all apply while a scan is open.", "L4.burst",
			burstUnderSnapshot),
	}
}

// Unique keys over conditions and mutations are at most 2,048, and so many
// apply as one commit.
func keys2048(t *harness.T) {
	l := t.Location()
	keys := numbered("k", spi.MaxBatchKeys)
	a := l.MustApply(write(nil, putAll(keys, "value")...))
	versions := versionsOf(a)
	t.Equal("L4.applied", "the number of versions", len(keys), len(a.PutVersions))
	want := records{}
	for _, k := range keys {
		want[k] = spi.Value{Bytes: []byte("value"), Version: versions[k]}
	}
	same(t, "L4.key-bound", "after a batch of 2,048 keys", want, scanned(t, l, "", spi.MaxScanLimit))

	// 1,024 conditions and 1,024 mutations on other keys, the last one of each kind included.
	checks, fresh := allMissing(numbered("absent", spi.MaxBatchKeys/2)), numbered("more", spi.MaxBatchKeys/2)
	l.MustApply(write(checks, putAll(fresh, "value")...))
	l.MustApply(write(allMissing(numbered("absent", spi.MaxBatchKeys))))
	var gone []spi.Key
	gone = append(append(gone, keys[:1024]...), fresh...)
	l.MustDelete(gone...)
	for _, k := range gone {
		delete(want, k)
	}
	same(t, "L4.key-bound", "after a batch of 2,048 Deletes", want, scanned(t, l, "", spi.MaxScanLimit))
}

func keysShared(t *harness.T) {
	l := t.Location()
	keys := numbered("k", spi.MaxBatchKeys)
	l.MustApply(write(allMissing(keys), putAll(keys, "all")...))
	// Shared in part: 1,500 conditions and 1,500 mutations on 2,048 keys together.
	keys = numbered("p", spi.MaxBatchKeys+1)
	l.MustApply(write(allMissing(keys[:1500]), putAll(keys[548:2048], "part")...))
	refused(t, "L4.key-bound", "a batch of 2,049 keys in 1,500 conditions and 1,501 mutations", l,
		write(allMissing(keys[:1500]), putAll(keys[548:], "more")...))
	if f, ok := l.MustRead(keys[2047]).(spi.Found); ok {
		t.EqualBytes("L4.key-bound", "the value that the refused batch would have replaced", []byte("part"), f.Value.Bytes)
	}
	l.MustMiss(keys[2048])
}

func keys2049(t *harness.T) {
	l := t.Location()
	keys := numbered("k", spi.MaxBatchKeys+1)
	deletes := make([]spi.Mutation, len(keys))
	for i, k := range keys {
		deletes[i] = del(k)
	}
	refused(t, "L4.key-bound", "a batch of 2,049 Puts", l, write(nil, putAll(keys, "value")...))
	refused(t, "L4.key-bound", "a batch of 2,049 Deletes", l, write(nil, deletes...))
	refused(t, "L4.key-bound", "a batch of 2,049 conditions", l, write(allMissing(keys)))
	refused(t, "L4.key-bound", "a batch of 2,048 conditions and a Put of another key", l,
		write(allMissing(keys[:2048]), put(keys[2048], "value")))
	refused(t, "L4.key-bound", "a batch of 1,025 conditions and 1,024 Puts of other keys", l,
		write(allMissing(keys[:1025]), putAll(keys[1025:], "value")...))
	same(t, "L4.key-bound", "after the refused batches", records{}, scanned(t, l, "", spi.MaxScanLimit))
}

// sized returns Puts of n bytes together, in values as large as they may be.
func sized(n int) []spi.Mutation {
	var mutations []spi.Mutation
	for i := 0; n > 0; i++ {
		k := spi.Key(fmt.Sprintf("v%d", i))
		size := min(n-len(k), spi.MaxValueBytes)
		mutations = append(mutations, spi.Put{Key: k, Bytes: slices.Repeat([]byte{byte('a' + i)}, size)})
		n -= len(k) + size
	}
	return mutations
}

// An encoded request is at most 4 MiB. The size is taken as the sum of keys,
// expected versions and values; 64 KiB are left to the provider's own framing.
func bytesAccepted(t *harness.T) {
	l := t.Location()
	mutations := sized(spi.MaxBatchBytes - spi.BatchBytesSlack)
	l.MustApply(write(nil, mutations...))
	for _, m := range mutations {
		p := m.(spi.Put)
		t.EqualBytes("L4.byte-bound", "the value of "+string(p.Key), p.Bytes, l.MustFind(p.Key).Value.Bytes)
	}
}

func longKeys(n int) []spi.Key {
	keys := numbered(strings.Repeat("k", spi.MaxKeyBytes-4), n)
	return keys
}

func bytesLongKeys(t *harness.T) {
	l := t.Location()
	keys := longKeys(spi.MaxBatchKeys)
	a := l.MustApply(write(nil, putAll(keys, strings.Repeat("v", 512))...))
	t.Equal("L4.applied", "the number of versions", len(keys), len(a.PutVersions))
	for _, i := range []int{0, 1, 1023, 1024, 2047} {
		l.MustFind(keys[i])
	}
}

func bytesRefused(t *harness.T) {
	l := t.Location()
	refused(t, "L4.byte-bound", "a batch of 5 values of 1 MiB", l, write(nil, sized(5*spi.MaxValueBytes)...))
	// Values alone would fit here, values and keys together do not.
	refused(t, "L4.byte-bound", "a batch of 4 values of 1 MiB with their keys", l, write(nil, sized(spi.MaxBatchBytes+1)...))
	refused(t, "L4.byte-bound", "a batch of 2,048 keys of 1,024 bytes with values of 1,025", l,
		write(nil, putAll(longKeys(spi.MaxBatchKeys), strings.Repeat("v", 1025))...))
	var versions []spi.Condition
	for _, k := range numbered("k", 1025) {
		versions = append(versions, ifVersion(k, spi.Version(strings.Repeat("v", spi.MaxVersionBytes))))
	}
	refused(t, "L4.byte-bound", "a batch of 1,025 expected versions of 4,096 bytes", l, write(versions, put("k", "value")))
	same(t, "L4.byte-bound", "after the refused batches", records{}, scanned(t, l, "", spi.MaxScanLimit))
}

func bytesRefusedValueConditions(t *harness.T) {
	l := t.Location()
	var conditions []spi.Condition
	for _, k := range numbered("k", 5) {
		conditions = append(conditions, ifValue(k, make([]byte, spi.MaxValueBytes)))
	}
	refused(t, "L4.byte-bound", "a batch of 5 expected values of 1 MiB", l, write(conditions, put("k", "value")))
	refused(t, "L4.byte-bound", "a batch of 4 expected values of 1 MiB and a Put", l, write(conditions[:4], put("k", "value")))
	refused(t, "L4.value", "an expected value of 1 MiB and one byte", l,
		write(given(ifValue("k", make([]byte, spi.MaxValueBytes+1))), put("k", "value")))
	l.MustConflict(write(conditions[:3], put("k", "value")))
	l.MustMiss("k")
}

// The same key is used at most once within the conditions and once within the
// mutations. The rows write to the key "k", which is live with the version.
type duplicateRow func(current spi.Version) spi.WriteRequest

func mutate(mutations ...spi.Mutation) duplicateRow {
	return func(spi.Version) spi.WriteRequest { return write(nil, mutations...) }
}

var duplicateMutations = []duplicateRow{
	mutate(put("k", "1"), put("k", "2")),
	mutate(put("k", "1"), put("k", "1")),
	mutate(put("k", "1"), del("k")),
	mutate(del("k"), put("k", "1")),
	mutate(del("k"), del("k")),
	mutate(del("absent"), put("k", "1"), del("absent")),
	mutate(append(append([]spi.Mutation{put("k", "1")}, putAll(numbered("other", 1000), "")...), put("k", "2"))...),
}

var duplicateConditions = []duplicateRow{
	func(spi.Version) spi.WriteRequest {
		return write(given(ifMissing("absent"), ifMissing("absent")), put("k", "1"))
	},
	func(v spi.Version) spi.WriteRequest {
		return write(given(ifVersion("k", v), ifVersion("k", v)),
			put("k", "1"))
	},
	func(v spi.Version) spi.WriteRequest {
		return write(given(ifMissing("k"), ifVersion("k", v)), put("k", "1"))
	},
	func(v spi.Version) spi.WriteRequest {
		return write(given(ifVersion("k", v), ifMissing("absent"),
			ifVersion("k", "1")))
	},
}

func duplicates(rows []duplicateRow) func(*harness.T) {
	return func(t *harness.T) {
		l := t.Location()
		want := seed(l, put("k", "old"))
		v := want["k"].Version
		for _, row := range rows {
			request := row(v)
			refused(t, "L4.duplicates", harness.Describe(request), l, request)
			same(t, "L4.duplicates", "after "+harness.Describe(request), want, scanned(t, l, "", spi.MaxScanLimit))
		}
		// Once within the conditions and once within the mutations is no duplicate.
		l.MustApply(write(given(ifVersion("k", v)), put("k", "new")))
	}
}

func nearDuplicates(t *harness.T) {
	l := t.Location()
	var keys []spi.Key
	for _, k := range slices.Concat(casedKeys, composedKeys, spacedKeys, nulKeys, patternKeys, separatedKeys, numberKeys) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	l.MustApply(write(allMissing(keys), putAll(keys, "value")...))
	t.Equal("L4.duplicates", "the number of records", len(keys), len(scanned(t, l, "", spi.MaxScanLimit)))
}

// A retention is positive.
func retentionNotPositive(t *harness.T) {
	l := t.Location()
	want := seed(l, put("k", "old"))
	for _, ms := range notPositive {
		what := fmt.Sprintf("a retention of %v ms", ms)
		refused(t, "L4.retention", what, l, write(nil, putFor("k", "new", ms)))
		refused(t, "L4.retention", what+" in the last of several Puts", l,
			write(nil, put("beside", "new"), putFor("k", "new", ms)))
	}
	same(t, "L4.retention", "after the refused Puts", want, look(l, "k", "beside"))
}

// A fraction of a millisecond may be rounded either way, but a retention never
// becomes nothing: neither none at all (a value for ever) nor zero.
func retentionFraction(t *harness.T) {
	l := t.Location()
	for _, ms := range []float64{0.001, 0.5, 1.5, 99.5, 3_600_000.5} {
		a := l.MustApply(write(nil, putFor("k", "value", ms)))
		low, high := max(1, spi.Millis(math.Floor(ms))), spi.Millis(math.Ceil(ms))
		what := fmt.Sprintf("with a retention of %v ms", ms)
		switch r := l.MustRead("k").(type) {
		case spi.Found:
			t.Between("L4.retention", "expiresAt "+what, a.StoreNow+low, r.Value.ExpiresAt, a.StoreNow+high)
		case spi.Missing:
			t.Checkf(r.StoreNow >= a.StoreNow+low, "L4.retention", "a value %s is missing %d ms after its commit", what,
				r.StoreNow-a.StoreNow)
		}
		if ms < 1000 {
			awaitExpiry(t, a.StoreNow+high)
			l.MustMiss("k")
		}
	}
}

// A write whose conditions hold is applied: a backlog inside the provider is
// no reason to refuse it.
const burstPuts = 256

func burst(t *harness.T) {
	l := t.Location()
	var versions issued
	for n := range burstPuts {
		versions.add(t, l.MustPut("k", []byte(fmt.Sprint(n)), nil), fmt.Sprintf("at Put %d", n))
	}
	t.EqualBytes("L4.burst", "the last value", []byte(fmt.Sprint(burstPuts-1)), l.MustFind("k").Value.Bytes)
}

func burstConcurrent(t *harness.T) {
	const writers = 32
	l := instances(t, 4)
	var versions issued
	t.Concurrently(writers, func(i int) {
		for n := range burstPuts / writers {
			versions.add(t, l[i%len(l)].MustPut("k", []byte("value"), nil), fmt.Sprintf("by writer %d at its Put %d", i, n))
		}
	})
	last := l[0].MustFind("k").Value.Version
	_, known := versions.count[last]
	t.Checkf(known, "L4.burst", "the last version %.80q is none that a Put was given", last)
}

func burstUnderSnapshot(t *harness.T) {
	l := t.Location()
	seed(l, put("k", "old"), put("k2", "old"), put("k3", "old"))
	l.MustPage(spi.ScanRequest{Limit: 1})
	burst(t)
}
