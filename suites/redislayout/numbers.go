package redislayout

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// lastScore is the last integer up to which every one is a score: a double.
const lastScore = 1 << 53

// numberCases: the shared sequence and expiry fields beyond what a script's
// number prints whole, or a type of fewer bits holds.
func numberCases() []harness.Case {
	var cases []harness.Case
	for _, at := range []struct {
		slug  string
		value int64
	}{{"2-to-31", 1 << 31}, {"2-to-32", 1 << 32}, {"1e14", 1e14}, {"1e15", 1e15}, {"2-to-53", lastScore}} {
		title := "When the sequence passes " + at.slug + ", versions stay fresh, Puts are current, and scans are exact."
		if at.value == lastScore {
			title = "A sequence that comes to 2^53, where scores end, leads to an explicit failure, and to no Put that is lost."
		}
		cases = append(cases, harness.Case{
			ID: "redislayout/sequence/" + at.slug, Title: title,
			Requirements: []string{"L9.zset", "L3.version-fresh", "L4.put", "L5.complete", "L5.snapshot", "L6.failure-class"},
			Needs:        location, Run: func(t *harness.T) { passSequence(t, at.value) },
		})
	}
	return append(cases, harness.Case{
		ID:           "redislayout/foreign/expiry-fields",
		Title:        "An expiry field beyond nanoseconds is read exactly, and one beyond the year 9999 exactly or not at all.",
		Requirements: []string{"L9.expiry-field", "L9.interop-read", "L9.interop-scan"}, Needs: location, Run: expiryFields,
	})
}

// L9.zset: the member with the highest score is current, and the score grows
// with each Put. Whatever sequence another provider has left, the next Put is
// current; where no score is left, it fails.
func passSequence(t *harness.T, at int64) {
	raw.Must(t.Redis().Set(t.Context(), layout.SequenceKey(t.KeyPrefix()), at-8, 0).Result())(t, "SET")
	l := t.Location()
	keys := []spi.Key{"a", "b", "c"}
	held, seen := map[spi.Key]spi.Value{}, map[spi.Version]bool{}
	scores := map[spi.Key]float64{}
	// write puts all three and reports whether the sequence allowed it.
	write := func(value string) bool {
		var w spi.WriteRequest
		for _, key := range keys {
			w.Mutations = append(w.Mutations, spi.Put{Key: key, Bytes: []byte(value)})
		}
		res, err := l.Write(t.Context(), w)
		if err != nil {
			t.ErrorKind("L6.failure-class", "a write with the sequence near its end", err, spi.KindStoreFailure)
			t.Checkf(at == lastScore, "L9.zset", "a write fails though the sequence is far from 2^53: %v", err)
			return false
		}
		a, ok := res.(spi.Applied)
		if !ok || len(a.PutVersions) != len(keys) {
			t.Fatalf("L4.put", "a write answered %s", harness.Describe(res))
		}
		for _, p := range a.PutVersions {
			t.Checkf(!seen[p.Version] || held[p.Key].Version != p.Version, "L3.version-fresh",
				"the version %.60q of %q was issued again", p.Version, p.Key)
			seen[p.Version] = true
			held[p.Key] = spi.Value{Bytes: []byte(value), Version: p.Version}
		}
		for _, key := range keys {
			e := raw.On(t).Current(key)
			t.Checkf(e.Score > scores[key], "L9.zset", "the score of %q is %.0f after the Put of %q, and was %.0f before", key,
				e.Score, value, scores[key])
			scores[key] = e.Score
		}
		return true
	}
	look := func(requirement, when string) {
		for _, key := range keys {
			t.Apart(func() {
				t.Equal(requirement, fmt.Sprintf("%q %s", key, when), held[key], l.Citing(requirement).MustFind(key).Value)
			})
		}
		t.Apart(func() { t.Equal("L5.complete", "a scan "+when, held, itemsOf(l.MustScan("", 10))) })
	}
	if !write("first") {
		t.Fatalf("L9.zset", "a batch of three fails with 8 numbers of the sequence left")
	}
	look("L4.put", "after the first batch")
	snapshot := map[spi.Key]spi.Value{}
	for key, value := range held {
		snapshot[key] = value
	}
	page := l.MustPage(spi.ScanRequest{Limit: 1})
	for n := range 12 {
		value := fmt.Sprint("round ", n)
		written := write(value)
		if !written {
			look("L9.zset", "after a write for which the sequence has too few numbers left")
			break
		}
		look("L4.put", "after "+value)
	}
	t.Apart(func() {
		t.Equal("L5.snapshot", "the snapshot that was open meanwhile", snapshot, itemsOf(l.MustFinish("", 1, page)))
	})
}

func itemsOf(items []spi.Item) map[spi.Key]spi.Value {
	values := map[spi.Key]spi.Value{}
	for _, item := range items {
		values[item.Key] = item.Value
	}
	return values
}

// lastCommonTime is the last millisecond of the year 9999, up to which every
// language's times reach. A provider whose type holds no later one can only
// fail; to clip it, or to take the record for expired, would be a guess.
const lastCommonTime = 253_402_300_799_999

func expiryFields(t *harness.T) {
	l := t.Location()
	for n, expires := range []spi.Millis{
		9_223_372_036_854, 9_223_372_036_855, 18_446_744_073_710, 100_000_000_000_001, lastCommonTime,
		lastCommonTime + 1, 922_337_203_685_478, 1_000_000_000_000_001, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<60 + 1, 1<<63 - 1,
	} {
		t.Apart(func() {
			key := spi.Key(fmt.Sprintf("k%02d", n))
			want := spi.Value{Bytes: []byte("v"), Version: "planted", ExpiresAt: expires}
			raw.On(t).PutMember(layout.Member{Key: string(key), Value: want.Bytes, Version: string(want.Version),
				ExpiresAt: expires})
			r, err := l.Read(t.Context(), key)
			if err != nil && expires > lastCommonTime {
				t.ErrorKind("L9.interop-read", fmt.Sprintf("reading a record with the expiry %d", expires), err,
					spi.KindStoreFailure)
				return
			}
			f, ok := r.(spi.Found)
			if !ok {
				t.Fatalf("L9.interop-read", "a record with the expiry %d reads as %s (%v)", expires, harness.Describe(r), err)
			}
			t.Equal("L9.expiry-field", fmt.Sprintf("a record with the expiry %d", expires), want, f.Value)
			items := itemsOf(l.MustScan(string(key), 10))
			t.Equal("L9.interop-scan", fmt.Sprintf("a scan of a record with the expiry %d", expires),
				map[spi.Key]spi.Value{key: want}, items)
			for _, c := range []spi.Condition{spi.MissingCondition{Key: key}, spi.VersionCondition{Key: key,
				Expected: "planted"}} {
				res, err := l.Write(t.Context(), spi.WriteRequest{Conditions: []spi.Condition{c}})
				_, held := res.(spi.Applied)
				_, version := c.(spi.VersionCondition)
				t.Checkf(err == nil && held == version, "L9.interop-read", "%s on a record with the expiry %d answered %s (%v)",
					harness.Describe(spi.WriteRequest{Conditions: []spi.Condition{c}}), expires, harness.Describe(res), err)
			}
		})
	}
}
