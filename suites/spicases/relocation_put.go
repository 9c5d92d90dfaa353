package spicases

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func putCases() []harness.Case {
	return []harness.Case{
		relocationCase("put/results", "Put answers Stored, then AlreadyStored for the same bytes and Conflict for others, "+
			"with the expiry of what is stored.",
			"R4.put R5.closed-results R3.expiry-clock", putResults),
		relocationCase("put/compare", "A payload that differs by one byte anywhere, is shorter or is longer is a Conflict.",
			"R4.put-compare R4.put", putCompare),
		relocationCase("put/keeps-bytes", "AlreadyStored and Conflict change no byte of what is stored.",
			"R4.put-keeps R4.put", putKeepsBytes),
		relocationCase("put/keeps-retention", "A repeated or conflicting Put with a shorter retention does not "+
			"bring the expiry forward.",
			"R4.put-keeps", putKeepsRetention),
		relocationCase("put/leaves-retention", "A repeated or conflicting Put with a longer retention "+
			"leaves the expiry to Renew.",
			"R4.put-retention", putLeavesRetention),
		relocationCase("put/after-delete", "The same bytes put again after a Delete are Stored.",
			"R4.put R4.delete", putAfterDelete),
		relocationCase("put/after-expiry", "The same bytes put again after their expiry are Stored, with a new expiry.",
			"R4.put R6.orphan", putAfterExpiry),
		relocationCase("put/race-different", "Of eight writers of different bytes on one reference one is Stored "+
			"and seven are Conflict.",
			"R4.put", func(t *harness.T) {
				race(t, func(i int) []byte { return fmt.Appendf(nil, "payload of writer %d", i) }, "conflict")
			}),
		relocationCase("put/race-same", "Of eight writers of the same bytes on one reference one is Stored and "+
			"seven are AlreadyStored.",
			"R4.put", func(t *harness.T) {
				race(t, func(int) []byte { return []byte("the same payload") }, "alreadyStored")
			}),
	}
}

func putResults(t *harness.T) {
	r := t.Relocation()
	payload := []byte("payload")
	first, given := store(t, r, "r", payload, hour)
	given.told(t, "R3.expiry-clock", "expiresAt of Stored", first.ExpiresAt)
	for range 2 {
		var res spi.BlobPutResult
		b := t.Bracket(func() { res = r.MustPut("r", payload, hour) })
		again, ok := res.(spi.AlreadyStored)
		if !ok {
			t.Fatalf("R4.put", "the same bytes put again answered %s", harness.Describe(res))
		}
		// It is the first Put's, or the later one's if that extended the retention.
		low, _ := given.Widened(b).Expiry(hour)
		_, high := b.Expiry(hour)
		t.Between("R4.put", "expiresAt of AlreadyStored", low, again.ExpiresAt, high)
		if res := r.Citing("R5.closed-results").MustPut("r", []byte("other"), hour); !isConflict(res) {
			t.Failf("R4.put", "other bytes put on the reference answered %s", harness.Describe(res))
		}
	}
}

func isConflict(r spi.BlobPutResult) bool {
	_, ok := r.(spi.Conflict)
	return ok
}

// otherBytes are changes of a payload of at least three bytes.
var otherBytes = []struct {
	name   string
	change func(p []byte) []byte
}{
	{"with another first byte", func(p []byte) []byte { p[0] ^= 1; return p }},
	{"with another byte in the middle", func(p []byte) []byte { p[len(p)/2] ^= 0x80; return p }},
	{"with another last byte", func(p []byte) []byte { p[len(p)-1] ^= 1; return p }},
	{"with two bytes exchanged", func(p []byte) []byte { p[0], p[1] = p[1], p[0]; return p }},
	{"without its last byte", func(p []byte) []byte { return p[:len(p)-1] }},
	{"without its first byte", func(p []byte) []byte { return p[1:] }},
	{"with a NUL more", func(p []byte) []byte { return append(p, 0) }},
	{"twice in a row", func(p []byte) []byte { return append(p, p...) }},
	{"that is empty", func([]byte) []byte { return nil }},
}

func putCompare(t *harness.T) {
	r := t.Relocation()
	for _, size := range []int{3, 1000, 100_000} {
		payload := make([]byte, size)
		for i := range payload {
			payload[i] = byte(i*7 + 1)
		}
		ref := spi.Reference(fmt.Sprint("r", size))
		r.MustStore(ref, payload, hour)
		for _, row := range otherBytes {
			if res := r.MustPut(ref, row.change(bytes.Clone(payload)), hour); !isConflict(res) {
				t.Failf("R4.put-compare", "a payload of %d bytes put again %s answered %s", size, row.name, harness.Describe(res))
			}
		}
	}
	r.MustStore("empty", nil, hour)
	if res := r.MustPut("empty", []byte{0}, hour); !isConflict(res) {
		t.Failf("R4.put-compare", "a NUL put where an empty payload is stored answered %s", harness.Describe(res))
	}
}

func putKeepsBytes(t *harness.T) {
	r := t.Relocation()
	payload := []byte("payload")
	r.MustStore("r", payload, hour)
	for _, again := range []string{"payload", "another", "pay", "payload and more", "", "payload"} {
		r.MustPut("r", []byte(again), hour)
		t.EqualBytes("R4.put-keeps", fmt.Sprintf("the payload after Put of %q", again), payload, r.MustFind("r").Bytes)
	}
}

func putKeepsRetention(t *harness.T) {
	r := t.Relocation()
	_, given := store(t, r, "r", []byte("payload"), day)
	for _, again := range []string{"payload", "another"} {
		var res spi.BlobPutResult
		b := t.Bracket(func() { res = r.MustPut("r", []byte(again), minute) })
		promised, _ := given.Widened(b).Expiry(day)
		if a, ok := res.(spi.AlreadyStored); ok {
			t.Checkf(a.ExpiresAt >= promised, "R4.put-keeps", "AlreadyStored says expiresAt %d, before the promised %d",
				a.ExpiresAt, promised)
		}
		var f spi.BlobFound
		promised, _ = given.Widened(t.Bracket(func() { f = r.MustFind("r") })).Expiry(day)
		t.Checkf(f.ExpiresAt >= promised, "R4.put-keeps",
			"after a Put of %q for a minute expiresAt is %d, %d ms before the promised %d",
			again, f.ExpiresAt, promised-f.ExpiresAt, promised)
	}
}

func putLeavesRetention(t *harness.T) {
	r := t.Relocation()
	_, given := store(t, r, "r", []byte("payload"), hour)
	for _, again := range []string{"payload", "another"} {
		r.MustPut("r", []byte(again), day)
		given.find(t, r, "r", "R4.put-retention", fmt.Sprintf("expiresAt after a Put of %q for a day", again))
	}
}

func putAfterDelete(t *harness.T) {
	r := t.Relocation()
	payload := []byte("payload")
	for range 3 {
		r.MustStore("r", payload, hour)
		t.EqualBytes("R4.put", "the payload", payload, r.MustFind("r").Bytes)
		r.MustDelete("r")
	}
}

func putAfterExpiry(t *harness.T) {
	r := t.Relocation()
	payload := []byte("payload")
	_, given := store(t, r, "r", payload, brief)
	given.awaitEnd(t)
	_, given = store(t, r, "r", payload, hour)
	f := given.find(t, r, "r", "R4.put", "expiresAt after the second Stored")
	t.EqualBytes("R4.put", "the payload", payload, f.Bytes)
}

// race lets eight writers of two instances put on one reference at once, and
// does so several times because a careless provider needs bad luck to fail.
func race(t *harness.T, payload func(writer int) []byte, others string) {
	const writers, rounds = 8, 20
	stores := []*harness.Relocation{t.Relocation(), t.Target().OpenRelocation(harness.Store{})}
	for round := range rounds {
		ref := spi.Reference(fmt.Sprint("r", round))
		results := make([]string, writers)
		t.Concurrently(writers, func(i int) {
			switch stores[i%2].MustPut(ref, payload(i), hour).(type) {
			case spi.Stored:
				results[i] = "stored"
			case spi.AlreadyStored:
				results[i] = "alreadyStored"
			case spi.Conflict:
				results[i] = "conflict"
			}
		})
		winner := slices.Index(results, "stored")
		want := slices.Repeat([]string{others}, writers)
		if winner >= 0 {
			want[winner] = "stored"
		}
		if winner < 0 || !slices.Equal(results, want) {
			t.Fatalf("R4.put", "%d writers at once were answered %v, expected one stored and the others %s", writers, results,
				others)
		}
		t.EqualBytes("R4.put", "the payload after the race", payload(winner), stores[1].MustFind(ref).Bytes)
	}
}
