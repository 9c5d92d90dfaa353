package spicases

import (
	"fmt"
	"math"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// retentionRanges reach over all that a 64-bit integer holds: at least one value
// of each decade, and what lies to either side of where a type that somebody
// may count milliseconds, seconds or nanoseconds in comes to its end. Above
// 2^53 the neighbours are those of a double.
var retentionRanges = []struct {
	slug, title string
	ms          []float64
}{
	{"short", "of a millisecond up to some hours", []float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7}},
	{"long", "of a day up to thousands of years", []float64{1e8, 1e9, 50 * day, 1e10, 1e11, 1e12, 1e13, 1e14}},
	{"32-bits", "about 2^31 and 2^32 ms", []float64{1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1}},
	{"32-bits-of-seconds", "about 2^31 and 2^32 seconds", []float64{(1<<31 - 1) * 1e3, 1 << 31 * 1e3, 1<<32*1e3 - 1,
		1 << 32 * 1e3}},
	// The expiry passes them some 1.7e12 to 2.3e12 ms earlier.
	{"nanoseconds", "about 2^63 and 2^64 nanoseconds", []float64{7e12, 7.6e12, 9_223_372_036_854, 9_223_372_036_855, 1.6e13,
		1.85e13}},
	// The greatest TimeSpan, and the greatest DateTime less the time of today.
	{"ticks", "about the ends of .NET's times", []float64{2.51e14, 253_402_300_799_999, 253_402_300_800_000, 922_337_203_685_477,
		922_337_203_685_478}},
	{"53-bits", "of 10^15 ms up to 2^53", []float64{1e15, 1 << 52, 1<<53 - 1, 1 << 53, 1<<53 + 2, 9_223_372_036_854_775, 1e16}},
	{"huge", "of 10^17 ms up to 2^63 and beyond", []float64{1e17, 1e18, 9.2e18, nearly2To63, 1 << 63, 1<<63 + 2048, 1e19, 1e21}},
}

// nearly2To63 is the greatest double below 2^63.
const nearly2To63 = 9_223_372_036_854_774_784

// mustKeep bounds the retentions that every provider keeps: discovery and
// payloads live for days. A longer one may be refused.
const mustKeep = 365 * day

// notPositive are retentions that are none, some of them positive in fewer bits.
var notPositive = []float64{
	0, -1e-9, -0.5, -1, -1e3, -1 << 31, -1<<31 - 1, -1<<32 + 1, -1 << 32, -1e12, -1e15, -1 << 53, -1e18, -1 << 63, -1e19,
}

// retentionCases: a retention is kept exactly, or it is an argument error and
// nothing is written; it is never clipped and never overflows. Each value is
// judged by itself.
func retentionCases() []harness.Case {
	const sentence = " is kept exactly, or is an argument error with nothing "
	var cases []harness.Case
	each := func(ms []float64, check func(*harness.T, int, float64)) func(*harness.T) {
		return func(t *harness.T) {
			for i, ms := range ms {
				t.Apart(func() { check(t, i, ms) })
			}
		}
	}
	for _, r := range retentionRanges {
		cases = append(cases,
			locationCase("bounds/retention-"+r.slug, "A retention "+r.title+sentence+"written.", "L4.retention", each(r.ms,
				putKeeps)),
			relocationCase("blob-retention/put-"+r.slug, "A Put with a retention "+r.title+sentence+"stored.", "R4.retention",
				each(r.ms, blobPutKeeps)),
			relocationCase("blob-retention/renew-"+r.slug, "A Renew with a retention "+r.title+sentence+"changed.",
				"R4.retention R4.renew", each(r.ms, blobRenewKeeps)))
	}
	return cases
}

// kept says whether an operation with a retention succeeded; anything else
// than success or the argument error that a long one may be is recorded.
func kept(t *harness.T, requirement, what string, ms float64, err error) bool {
	if err == nil {
		return true
	}
	if t.ErrorKind(requirement, what, err, spi.KindArgument) && ms <= mustKeep {
		t.Failf(requirement, "%s was refused: %v", what, err)
	}
	return false
}

// exactly records a finding unless the expiry lies the retention, give or take
// the next double above 2^53, behind a moment from low to high.
func exactly(t *harness.T, requirement, what string, low, high spi.Millis, ms float64, expires spi.Millis) {
	if float64(low)+ms >= 1<<63 {
		t.Failf(requirement, "%s expires at %d, though the time %d and %.0f ms are more than 64 bits hold", what, expires, low,
			ms)
		return
	}
	slack := spi.Millis(ms / (1 << 52))
	t.Between(requirement, what+": expiresAt less the retention", low-slack, expires-spi.Millis(ms), high+slack)
}

func putKeeps(t *harness.T, n int, ms float64) {
	const requirement = "L4.retention"
	l := t.Location()
	what := fmt.Sprintf("a Put with a retention of %.0f ms", ms)
	over := spi.Key(fmt.Sprintf("r%02d-over", n))
	old := seed(l, put(over, "old"))
	// Neighbours, since a lost last digit does not show where it is a zero.
	request := write(nil, putFor(over, "new", ms))
	for i := range 3 {
		request.Mutations = append(request.Mutations, putFor(spi.Key(fmt.Sprintf("r%02d-%d", n, i)), "new", ms+float64(i)))
	}
	result, err := l.Write(t.Context(), request)
	if !kept(t, requirement, what, ms, err) {
		same(t, requirement, "after the refusal of "+what, old, scanned(t, l, fmt.Sprintf("r%02d", n), 10))
		same(t, requirement, "read after the refusal of "+what, old, look(l, written(request)...))
		return
	}
	a, ok := result.(spi.Applied)
	if !ok {
		t.Fatalf(requirement, "%s answered %s", what, harness.Describe(result))
	}
	page := l.MustPage(spi.ScanRequest{Prefix: fmt.Sprintf("r%02d", n), Limit: 10})
	items := map[spi.Key]spi.Value{}
	for _, item := range l.MustFinish(fmt.Sprintf("r%02d", n), 10, page) {
		items[item.Key] = item.Value
	}
	for _, m := range request.Mutations {
		p := m.(spi.Put)
		expires := a.StoreNow + spi.Millis(math.Min(float64(*p.Retention), 1<<62))
		if item, shown := items[p.Key]; shown {
			exactly(t, requirement, what+", in a scan", a.StoreNow, a.StoreNow, float64(*p.Retention), item.ExpiresAt)
		} else {
			t.Checkf(page.StoreNow >= expires, requirement, "%s is not in a scan %d ms later", what, page.StoreNow-a.StoreNow)
		}
		switch r := l.MustRead(p.Key).(type) {
		case spi.Found:
			exactly(t, requirement, what, a.StoreNow, a.StoreNow, float64(*p.Retention), r.Value.ExpiresAt)
		case spi.Missing:
			t.Checkf(r.StoreNow >= expires, requirement, "%s is missing %d ms later", what, r.StoreNow-a.StoreNow)
		}
	}
}

func written(w spi.WriteRequest) []spi.Key {
	var keys []spi.Key
	for _, m := range w.Mutations {
		keys = append(keys, m.MutationKey())
	}
	return keys
}

func blobPutKeeps(t *harness.T, n int, ms float64) {
	const requirement = "R4.retention"
	r := t.Relocation()
	what := fmt.Sprintf("a Put with a retention of %.0f ms", ms)
	ref, over := spi.Reference(fmt.Sprint("r", n)), spi.Reference(fmt.Sprint("over", n))
	_, first := store(t, r, over, []byte("p"), day)
	_, err := r.Put(t.Context(), over, []byte("p"), spi.Retention(ms))
	kept(t, requirement, what+" of what is there", ms, err)
	var left spi.BlobReadResult
	read := t.Bracket(func() { left = r.MustRead(over) })
	promised, _ := first.Widened(read).Expiry(day)
	f, ok := left.(spi.BlobFound)
	t.Checkf(ok && f.ExpiresAt >= promised, requirement, "after %s what was there is %s", what, harness.Describe(left))

	low := t.Now() - 1
	res, err := r.Put(t.Context(), ref, []byte("p"), spi.Retention(ms))
	high := t.Now() + 1
	if !kept(t, requirement, what, ms, err) {
		r.MustMiss(ref)
		r.MustStore(ref, []byte("other"), hour) // the reference is free
		return
	}
	s, ok := res.(spi.Stored)
	if !ok {
		t.Fatalf(requirement, "%s answered %s", what, harness.Describe(res))
	}
	exactly(t, requirement, what, low, high, ms, s.ExpiresAt)
	blobLives(t, ref, what, low, high, ms)
}

func blobRenewKeeps(t *harness.T, n int, ms float64) {
	const requirement = "R4.retention"
	r := t.Relocation()
	what := fmt.Sprintf("a Renew with a retention of %.0f ms", ms)
	ref := spi.Reference(fmt.Sprint("r", n))
	_, first := store(t, r, ref, []byte("p"), day)
	low := t.Now() - 1
	res, err := r.Renew(t.Context(), ref, spi.Retention(ms))
	high := t.Now() + 1
	if !kept(t, requirement, what, ms, err) {
		f := first.find(t, r, ref, requirement, "expiresAt after the refusal of "+what)
		t.EqualBytes(requirement, "the payload after the refusal of "+what, []byte("p"), f.Bytes)
		return
	}
	renewed, ok := res.(spi.Renewed)
	if !ok {
		t.Fatalf("R4.renew", "%s answered %s", what, harness.Describe(res))
	}
	exactly(t, requirement, what, low, high, ms, renewed.ExpiresAt)
	blobLives(t, ref, what, low, high, ms)
}

// blobLives checks a payload that was stored or renewed for ms between low and high.
func blobLives(t *harness.T, ref spi.Reference, what string, low, high spi.Millis, ms float64) {
	const requirement = "R4.retention"
	switch f := t.Relocation().MustRead(ref).(type) {
	case spi.BlobFound:
		exactly(t, requirement, "read after "+what, low, high, ms, f.ExpiresAt)
		t.EqualBytes(requirement, "the payload after "+what, []byte("p"), f.Bytes)
	case spi.Missing:
		now := t.Now() + 1
		t.Checkf(float64(now-low) >= ms, requirement, "the payload is missing at most %d ms after %s", now-low, what)
	}
}
