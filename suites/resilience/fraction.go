package resilience

import (
	"fmt"
	"math"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// fractions of a millisecond, down to the smallest number there is, and the
// shortest retentions that are whole.
var fractions = []spi.Retention{
	1, 2,
	0.999, 0.5, 0.001, 1e-4, 1e-6, 1e-9, 1e-100, math.SmallestNonzeroFloat64, 1.0000001, 1.5, 99.9999999, 60_000.0001,
}

// finest is the retention below which a type of microseconds holds nothing at
// all, so that an argument error is right there.
const finest = 0.001

// fractionCases: a fraction of a millisecond may be rounded either way, but a
// retention never becomes nothing: neither none at all, which is for ever, nor
// zero. The clock stands still, so that what lives for a millisecond is seen.
func fractionCases() []harness.Case {
	const sentence = " with a fraction of a millisecond, however small, keeps it to the millisecond and never as nothing."
	return []harness.Case{
		locationCase("moment/fraction", "A Put"+sentence, "L4.retention L3.expired-missing", putFractions),
		relocationCase("moment/blob-fraction", "A Put of a payload"+sentence, "R4.retention R4.read", func(t *harness.T) {
			blobFractions(t, func(r *harness.Relocation, ref spi.Reference, ms spi.Retention) (spi.Millis, error) {
				res, err := r.Put(t.Context(), ref, []byte("p"), ms)
				s, ok := res.(spi.Stored)
				t.Checkf(ok || err != nil, "R4.retention", "a Put for %v ms answered %s", float64(ms), harness.Describe(res))
				return s.ExpiresAt, err
			})
		}),
		relocationCase("moment/renew-fraction", "A Renew"+sentence, "R4.retention R4.read R4.renew", func(t *harness.T) {
			blobFractions(t, func(r *harness.Relocation, ref spi.Reference, ms spi.Retention) (spi.Millis, error) {
				r.MustStore(ref, []byte("p"), spi.Retention(day))
				res, err := r.Renew(t.Context(), ref, ms)
				n, ok := res.(spi.Renewed)
				t.Checkf(ok || err != nil, "R4.renew", "a Renew for %v ms answered %s", float64(ms), harness.Describe(res))
				if err != nil {
					r.MustDelete(ref)
				}
				return n.ExpiresAt, err
			})
		}),
	}
}

// tooFine reports whether a retention was refused, which only one that is
// hardly there may be.
func tooFine(t *harness.T, requirement string, ms spi.Retention, err error) bool {
	if err == nil {
		return false
	}
	what := fmt.Sprintf("a retention of %v ms", float64(ms))
	if t.ErrorKind(requirement, what, err, spi.KindArgument) && ms >= finest {
		t.Failf(requirement, "%s was refused: %v", what, err)
	}
	return true
}

// whole are the milliseconds to which a retention may be rounded.
func whole(ms spi.Retention) (least, most spi.Millis) {
	return max(1, spi.Millis(math.Floor(float64(ms)))), spi.Millis(math.Ceil(float64(ms)))
}

func putFractions(t *harness.T) {
	const requirement = "L4.retention"
	c := openFrozen(t, &location)
	now := t.NowOf(c.client)
	for i, ms := range fractions {
		t.Apart(func() {
			key := spi.Key(fmt.Sprint("k", i))
			w := write(nil, spi.Put{Key: key, Bytes: []byte("v"), Retention: &ms})
			res, err := c.location.Write(t.Context(), w)
			if tooFine(t, requirement, ms, err) {
				c.location.MustMiss(key)
				return
			}
			a, ok := res.(spi.Applied)
			f, found := c.location.MustRead(key).(spi.Found)
			if !ok || !found {
				t.Fatalf(requirement, "a Put for %v ms answered %s, and in the same millisecond the value is Missing",
					float64(ms), harness.Describe(res))
			}
			least, most := whole(ms)
			t.Between(requirement, fmt.Sprintf("expiresAt of a Put for %v ms", float64(ms)), a.StoreNow+least, f.Value.ExpiresAt,
				a.StoreNow+most)
		})
	}
	for _, ms := range []spi.Retention{2, 200, 61_000} {
		c.freeze(now + spi.Millis(ms) + 1)
		for i := range fractions {
			if fractions[i] <= ms {
				t.Apart(func() {
					_, gone := c.location.MustRead(spi.Key(fmt.Sprint("k", i))).(spi.Missing)
					t.Checkf(gone, "L3.expired-missing", "a value put for %v ms is still found %.0f ms later",
						float64(fractions[i]), float64(ms)+1)
				})
			}
		}
	}
}

// blobFractions lets a payload have each retention by put, which answers its
// expiry.
func blobFractions(t *harness.T, put func(*harness.Relocation, spi.Reference, spi.Retention) (spi.Millis, error)) {
	const requirement = "R4.retention"
	c := openFrozen(t, &relocation)
	r, now := c.relocation, t.NowOf(c.client)
	for i, ms := range fractions {
		t.Apart(func() {
			ref := spi.Reference(fmt.Sprint("r", i))
			expires, err := put(r, ref, ms)
			if tooFine(t, requirement, ms, err) {
				r.MustMiss(ref)
				return
			}
			// Redis's own clock and the provider's time are the same here.
			least, most := whole(ms)
			low, high := now+max(1, least-1), now+most+1
			t.Between(requirement, fmt.Sprintf("expiresAt of a retention of %v ms", float64(ms)), low, expires, high)
			f, found := r.MustRead(ref).(spi.BlobFound)
			if !found {
				t.Fatalf(requirement,
					"a payload with a retention of %v ms is Missing in the millisecond in which it was stored or renewed",
					float64(ms))
			}
			t.Between(requirement, fmt.Sprintf("expiresAt on read with a retention of %v ms", float64(ms)), low, f.ExpiresAt,
				high)
		})
	}
	for _, ms := range []spi.Retention{2, 200, 61_000} {
		c.freeze(now + spi.Millis(ms) + 3)
		for i := range fractions {
			if fractions[i] <= ms {
				t.Apart(func() {
					_, gone := r.MustRead(spi.Reference(fmt.Sprint("r", i))).(spi.Missing)
					t.Checkf(gone, "R4.read", "a payload with a retention of %v ms is still found %.0f ms later",
						float64(fractions[i]), float64(ms)+3)
				})
			}
		}
	}
}
