package spicases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func relocationCases() []harness.Case {
	return slices.Concat([]harness.Case{
		relocationCase("relocation/references", "References are taken as they are: each of many that look alike or hold `:`, "+
			"`{}`, NUL or non-ASCII text has its own payload.",
			"R3.reference R4.delete", references),
		relocationCase("relocation/any-bytes", "An empty payload and any bytes come back as they were put, also those that "+
			"look like numbers or text.",
			"R3.payload-bytes R3.size", anyPayload),
		relocationCase("relocation/store-now", "Every result of Put, Read and Renew carries the time of Redis's clock.",
			"R3.store-now", blobStoreNow),
		relocationCase("relocation/no-dedupe", "The same bytes under two references are two payloads with "+
			"their own expiry and end.",
			"R3.no-dedupe", noDedupe),
		relocationCase("relocation/read", "Read answers bytes and expiry as they were put, again and again, and does "+
			"not extend the retention.",
			"R4.read R3.expiry-clock", readBlob),
		relocationCase("relocation/read-missing", "Reading a reference that was never put or was deleted answers Missing.",
			"R4.read R5.closed-results", readMissingBlob),
		relocationCase("relocation/one-observation",
			"Bytes and expiry that are read belong together while another instance deletes and puts.",
			"R4.read", blobOneObservation),
		relocationCase("relocation/found-before-expiry",
			"What Read finds, polled by four readers until it is gone, has not expired at its own store time.",
			"R4.read R3.expiry-clock", foundBeforeExpiry),
		relocationCase("renew/at-expiry", "A Renew in the moment of the expiry answers Renewed and the payload lives on, or "+
			"Missing and it is gone.",
			"R4.renew R3.expiry-clock", renewAtExpiry),
		relocationCase("relocation/delete", "Delete removes its reference and succeeds however often it is repeated, also for "+
			"one that was never put or has expired.",
			"R4.delete", deleteBlob),
		relocationCase("renew/extends", "Renew sets the expiry to the store time plus the retention, and the bytes stay.",
			"R4.renew R3.expiry-clock", func(t *harness.T) { renewTo(t, minute, hour) }),
		relocationCase("renew/shortens", "A Renew with a shorter retention brings the expiry forward, and the bytes stay.",
			"R4.renew R3.expiry-clock", func(t *harness.T) { renewTo(t, day, minute) }),
		relocationCase("renew/repeats", "Repeating a Renew computes the expiry anew each time and leaves the bytes alone.",
			"R4.renew R3.expiry-clock", func(t *harness.T) { renewTo(t, minute, hour, hour, hour, minute, hour) }),
		relocationCase("renew/shorter-ends", "A payload that was renewed to a short retention is gone after it.",
			"R4.renew R6.orphan", renewEnds),
		relocationCase("renew/keeps-alive", "A renewed payload outlives its first retention.",
			"R4.renew R6.published", renewKeepsAlive),
		relocationCase("renew/missing", "Renew answers Missing for a reference that was never put, was deleted or has "+
			"expired, and brings nothing back.",
			"R4.renew R5.closed-results", renewMissing),
		relocationCase("relocation/orphan", "A payload that nobody renews is found until its expiry and is Missing from then on.",
			"R6.orphan R3.expiry-clock R6.published", orphan),
		relocationCase("relocation/neighbours-stay", "A payload with retention left stays when others expire or are deleted.",
			"R6.published R6.orphan", neighboursStay),
	}, putCases(), blobRetentionCases(), sizeCases())
}

// referenceTable holds references that a careless provider confuses, cuts or
// refuses, and those at the bounds of 1 and 4096 bytes.
var referenceTable = []spi.Reference{
	"a", "A", " a", "a ", "a\t", "a\n", "\x00", "a\x00", "a\x00b", "\x00a",
	":", "a:b", "a::b", "a:", "{}", "{a}", "{a", "a}", "}{",
	"*", "?", "[a]", "a*", `\`, `"`, "'", "%00", "a/b", "../a", "0", "01",
	"\u00e9", "e\u0301", "\u0416\u0436", "\u65e5\u672c\u8a9e", "\U0001f600", "\ufeffa",
	spi.Reference(strings.Repeat("r", spi.MaxReferenceBytes)),
	spi.Reference(strings.Repeat("r", spi.MaxReferenceBytes-1) + "s"),
	spi.Reference(strings.Repeat("r", spi.MaxReferenceBytes-1)),
	spi.Reference(strings.Repeat("\u00e9", spi.MaxReferenceBytes/2)),
	spi.Reference(strings.Repeat("\U0001f600", spi.MaxReferenceBytes/4)),
}

func references(t *harness.T) {
	r := t.Relocation()
	payload := func(i int) []byte { return fmt.Appendf(nil, "payload %d", i) }
	for i, ref := range referenceTable {
		r.MustStore(ref, payload(i), hour)
	}
	for i, ref := range referenceTable {
		t.EqualBytes("R3.reference", fmt.Sprintf("the payload of %.40q (%d bytes)", ref, len(ref)), payload(i),
			r.MustFind(ref).Bytes)
	}
	for i, ref := range referenceTable {
		r.MustDelete(ref)
		r.MustMiss(ref)
		if i+1 < len(referenceTable) {
			next := referenceTable[i+1]
			t.EqualBytes("R4.delete", fmt.Sprintf("the payload of %.40q after %.40q was deleted", next, ref), payload(i+1),
				r.MustFind(next).Bytes)
		}
	}
}

func anyPayload(t *harness.T) {
	r := t.Relocation()
	all := harness.EveryByte()
	for i, payload := range [][]byte{
		{}, {0}, {0xff}, all, t.RandomBytes(70_000), []byte("12345"), []byte("-0"), []byte("1e5"), []byte("\r\n"), []byte("null"),
		[]byte("\xff\xfe\xed\xa0\x80"), []byte("e\u0301 \u00e9"), make([]byte, 1000),
	} {
		ref := spi.Reference(fmt.Sprint("r", i))
		requirement := "R3.payload-bytes"
		if len(payload) == 0 {
			requirement = "R3.size"
		}
		r.Citing(requirement).MustStore(ref, payload, hour)
		t.EqualBytes("R3.payload-bytes", fmt.Sprintf("payload %d", i), payload, r.MustFind(ref).Bytes)
		if _, ok := r.MustPut(ref, payload, hour).(spi.AlreadyStored); !ok {
			t.Failf("R3.payload-bytes", "payload %d put again is not alreadyStored", i)
		}
	}
}

func blobStoreNow(t *harness.T) {
	r := t.Relocation()
	now := func(what string, operation func() any) {
		var got spi.Millis
		low, high := t.Bracket(func() { got = blobTime(operation()) }).Now()
		t.Between("R3.store-now", "StoreNow of "+what, low, got, high)
	}
	payload := []byte("p")
	now("a missing Read", func() any { return r.MustMiss("r") })
	now("a missing Renew", func() any { return renew(t, "R3.store-now", r, "r", hour) })
	now("Stored", func() any { return r.MustStore("r", payload, hour) })
	now("AlreadyStored", func() any { return r.MustPut("r", payload, hour) })
	now("Conflict", func() any { return r.MustPut("r", []byte("q"), hour) })
	now("Found", func() any { return r.MustFind("r") })
	now("Renewed", func() any { return r.MustRenew("r", hour) })
}

func blobTime(result any) spi.Millis {
	switch r := result.(type) {
	case spi.Missing:
		return r.StoreNow
	case spi.Stored:
		return r.StoreNow
	case spi.AlreadyStored:
		return r.StoreNow
	case spi.Conflict:
		return r.StoreNow
	case spi.BlobFound:
		return r.StoreNow
	case spi.Renewed:
		return r.StoreNow
	}
	return 0
}

// renew returns the result of a renew that must not fail.
func renew(t *harness.T, requirement string, r *harness.Relocation, ref spi.Reference,
	retention spi.Retention) spi.BlobRenewResult {
	res, err := r.Renew(t.Context(), ref, retention)
	if err != nil {
		t.Fatalf(requirement, "renewing %.40q failed: %v", ref, err)
	}
	return res
}

func noDedupe(t *harness.T) {
	r := t.Relocation()
	payload := []byte("the same bytes")
	leases := map[spi.Reference]lease{}
	for _, ref := range []spi.Reference{"a", "b", "c"} {
		_, leases[ref] = store(t, r, ref, payload, hour)
	}
	r.MustRenew("a", day)
	r.MustDelete("c")
	f := leases["b"].find(t, r, "b", "R3.no-dedupe", "expiresAt of b after a was renewed")
	t.EqualBytes("R3.no-dedupe", "the payload of b", payload, f.Bytes)
	r.MustDelete("a")
	t.EqualBytes("R3.no-dedupe", "the payload of b after the others were deleted", payload, r.MustFind("b").Bytes)
}

// readAgain is how far on Redis's clock must be when a payload is read again, so
// that a read that extends the retention shows.
const readAgain = 10

func readBlob(t *harness.T) {
	r := t.Relocation()
	for i, ms := range []spi.Retention{minute, hour, day} {
		ref, payload := spi.Reference(fmt.Sprint("r", i)), fmt.Appendf(nil, "payload %d", i)
		_, given := store(t, r, ref, payload, ms)
		for range 3 {
			f := given.find(t, r, ref, "R4.read", "expiresAt on read")
			t.EqualBytes("R4.read", "the payload", payload, f.Bytes)
			awaitExpiry(t, given.After+readAgain)
		}
	}
}

func readMissingBlob(t *harness.T) {
	r := t.Relocation()
	r.MustMiss("never")
	r.MustStore("deleted", []byte("p"), hour)
	r.MustDelete("deleted")
	r.MustMiss("deleted")
	r.MustMiss("never")
}

func deleteBlob(t *harness.T) {
	r := t.Relocation()
	_, expired := store(t, r, "expired", []byte("p"), brief)
	for range 3 {
		r.MustDelete("never")
	}
	r.MustStore("r", []byte("p"), hour)
	for range 3 {
		r.MustDelete("r")
		r.MustMiss("r")
	}
	expired.awaitEnd(t)
	r.MustDelete("expired")
	r.MustMiss("expired")
}

// renewTo stores a payload and renews it with one retention after the other.
func renewTo(t *harness.T, first spi.Retention, retentions ...spi.Retention) {
	r := t.Relocation()
	payload := []byte("payload")
	r.MustStore("r", payload, first)
	for _, ms := range retentions {
		renewed, given := renewFor(t, r, "r", ms)
		given.told(t, "R3.expiry-clock", fmt.Sprintf("expiresAt of a Renew with %.0f ms", float64(ms)), renewed.ExpiresAt)
		f := given.find(t, r, "r", "R4.renew", "expiresAt on read")
		t.EqualBytes("R4.renew", "the renewed payload", payload, f.Bytes)
	}
}

func renewEnds(t *harness.T) {
	r := t.Relocation()
	r.MustStore("r", []byte("p"), hour)
	_, given := renewFor(t, r, "r", brief)
	given.awaitEnd(t)
	r.MustMiss("r")
}

// renewKeepsAlive tries again with more time if the machine was too slow to
// renew within the first retention.
func renewKeepsAlive(t *harness.T) {
	r := t.Relocation()
	for _, ms := range []spi.Retention{100, 1000, 10_000} {
		ref, payload := spi.Reference(fmt.Sprint("r", ms)), []byte("payload")
		_, given := store(t, r, ref, payload, ms)
		if _, missing := renew(t, "R4.renew", r, ref, hour).(spi.Missing); missing {
			low, _ := given.Expiry(ms)
			now := t.Now()
			t.Checkf(now >= low, "R6.published", "Renew answered Missing at %d, before the expiry %d", now, low)
			continue
		}
		given.awaitEnd(t)
		t.EqualBytes("R4.renew", "the renewed payload after its first retention", payload, r.MustFind(ref).Bytes)
		return
	}
	t.Skipf("the machine is too slow to renew within 10 s")
}

func renewMissing(t *harness.T) {
	r := t.Relocation()
	_, expired := store(t, r, "expired", []byte("p"), brief)
	r.MustStore("deleted", []byte("p"), hour)
	r.MustDelete("deleted")
	expired.awaitEnd(t)
	for _, ref := range []spi.Reference{"never", "deleted", "expired"} {
		res := renew(t, "R5.closed-results", r, ref, hour)
		if _, ok := res.(spi.Missing); !ok {
			t.Failf("R4.renew", "renewing a reference (%s) that holds nothing answered %s", ref, harness.Describe(res))
		}
		r.MustMiss(ref)
	}
}

func orphan(t *harness.T) {
	r := t.Relocation()
	const retention = 120
	_, given := store(t, r, "r", []byte("p"), retention)
	low, high := given.Expiry(retention)
	for {
		var res spi.BlobReadResult
		read := t.Bracket(func() { res = r.MustRead("r") })
		if _, missing := res.(spi.Missing); missing {
			t.Checkf(read.After >= low, "R6.published", "the payload is missing at %d, %d ms before its expiry", read.After,
				low-read.After)
			return
		}
		if read.Before > high {
			t.Fatalf("R6.orphan", "the payload is found at %d, %d ms after its expiry", read.Before, read.Before-high)
		}
		t.Pause(2 * time.Millisecond)
	}
}

func neighboursStay(t *harness.T) {
	r := t.Relocation()
	payload := []byte("published")
	r.MustStore("r", payload, hour)
	_, expired := store(t, r, "r2", payload, brief)
	r.MustStore("r:r", payload, hour)
	r.MustStore("r:r:r", payload, hour)
	r.MustDelete("r:r")
	expired.awaitEnd(t)
	r.MustMiss("r2")
	r.MustMiss("r:r")
	for _, ref := range []spi.Reference{"r", "r:r:r"} {
		t.EqualBytes("R6.published", "the payload with retention left", payload, r.MustFind(ref).Bytes)
	}
}
