package mutants

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// numberMutants lose numbers at the ends of the types that hold them.
func numberMutants() []Mutant {
	clipped := func(most float64) func(float64) float64 {
		return func(ms float64) float64 { return min(ms, most) }
	}
	// Above 2^52 the reference refuses, so the ends beyond are met by what is
	// clipped to there.
	beyond := func(from float64) func(float64) float64 {
		return func(ms float64) float64 {
			if ms >= from {
				return min(ms, 1<<52)
			}
			return ms
		}
	}
	var all []Mutant
	for _, r := range []struct {
		slug, title string
		change      func(float64) float64
	}{
		{"one-is-none", "A retention of one millisecond is over at once.", func(ms float64) float64 {
			if ms == 1 {
				return nothing
			}
			return ms
		}},
		{"unsigned-32-bits", "A retention loses what is above 32 bits.", func(ms float64) float64 {
			if ms >= 1<<32 {
				return math.Mod(ms, 1<<32)
			}
			return ms
		}},
		{"negative-32-bits", "A negative retention is read as one of 32 bits.", func(ms float64) float64 {
			if ms < 0 && ms > -1<<63 {
				return float64(uint32(int64(ms)))
			}
			return ms
		}},
		{"single-precision", "A retention is a number of single precision.", func(ms float64) float64 {
			if ms > 1<<24 {
				return float64(float32(ms))
			}
			return ms
		}},
		{"clipped-to-seconds", "A retention is clipped to 2^31 seconds.", clipped(math.MaxInt32 * 1000)},
		{"clipped-to-nanoseconds", "A retention is clipped to 2^63 nanoseconds.", clipped(math.MaxInt64 / 1_000_000)},
		{"clipped-to-year-9999", "A retention is clipped to about eight thousand years.", clipped(251e12)},
		{"clipped-to-time-span", "A retention is clipped to 2^63 ticks of 100 ns.", clipped(922_337_203_685_477)},
		{"clipped-at-2-to-53", "A retention above 2^53 is clipped.", beyond(1<<53 + 1)},
		{"clipped-at-1e18", "A retention above 10^18 is clipped.", beyond(1e18)},
		{"wraps-at-2-to-63", "A retention above 2^63 is one of years.", beyond(1 << 63)},
		{"microseconds", "A retention below a microsecond is over at once.", func(ms float64) float64 {
			if ms > 0 && ms < 0.0005 {
				return nothing
			}
			return ms
		}},
		{"below-all", "A retention below 10^-50 is over at once.", func(ms float64) float64 {
			if ms > 0 && ms < 1e-50 {
				return nothing
			}
			return ms
		}},
	} {
		all = append(all,
			retentions("location-"+r.slug, "L4.retention", r.title, func(l *location, _ *relocation) { shortPut(l, r.change) }),
			retentions("blob-put-"+r.slug, "R4.retention", r.title, func(_ *location, b *relocation) {
				shortBlobPut(b,
					r.change)
			}),
			retentions("blob-renew-"+r.slug, "R4.retention", r.title, func(_ *location, b *relocation) {
				shortRenew(b,
					r.change)
			}))
	}
	all = append(all, sequenceMutants()...)
	all = append(all, byteBoundMutants()...)
	return append(all,
		retentions("location-refused-yet-stored", "L4.retention",
			"A retention above 2^60 is an argument error, and the value is stored.",
			func(l *location, _ *relocation) {
				refusedYet(l, func(p spi.Put) spi.Mutation {
					return spi.Put{Key: p.Key,
						Bytes: p.Bytes}
				})
			}),
		retentions("location-refused-yet-deleted", "L4.retention",
			"A retention above 2^60 is an argument error, and the old value is gone.",
			func(l *location, _ *relocation) {
				refusedYet(l, func(p spi.Put) spi.Mutation { return spi.Delete{Key: p.Key} })
			}),
		retentions("blob-refused-yet-stored", "R4.retention",
			"A Put for more than 2^60 ms is an argument error, and the payload is stored.",
			func(_ *location, r *relocation) {
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					if ms > 1<<60 {
						_, _ = r.RelocationStore.Put(ctx, ref, p, 60_000)
					}
					return r.RelocationStore.Put(ctx, ref, p, ms)
				}
			}),
		retentions("blob-refused-yet-gone", "R4.retention",
			"A repeated Put for more than 2^60 ms is an argument error, and the payload is gone.",
			func(_ *location, r *relocation) {
				r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
					if ms > 1<<60 {
						_ = r.RelocationStore.Delete(ctx, ref)
					}
					return r.RelocationStore.Put(ctx, ref, p, ms)
				}
			}),
		retentions("blob-refused-yet-renewed", "R4.retention",
			"A Renew for more than 2^60 ms is an argument error, and the payload is renewed.",
			func(_ *location, r *relocation) {
				r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
					if ms > 1<<60 {
						_, _ = r.RelocationStore.Renew(ctx, ref, 1<<40)
					}
					return r.RelocationStore.Renew(ctx, ref, ms)
				}
			}),
	)
}

// retentions is a mutant of either store that loses retentions.
func retentions(slug, requirement, title string, change func(*location, *relocation)) Mutant {
	id := "retentions/" + slug
	if requirement == "L4.retention" {
		return onLocation(id, requirement, title, func(l *location) { change(l, nil) })
	}
	return onRelocation(id, requirement, title, func(r *relocation) { change(nil, r) })
}

// nothing is the retention of what the mutants store and delete at once.
const nothing = 0.25

// shortPut puts for the changed retention.
func shortPut(l *location, change func(float64) float64) {
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		var over spi.WriteRequest
		w.Mutations = slices.Clone(w.Mutations)
		for i, m := range w.Mutations {
			if p, ok := m.(spi.Put); ok && p.Retention != nil {
				p.Retention = spi.For(change(float64(*p.Retention)))
				if w.Mutations[i] = p; *p.Retention == nothing {
					over.Mutations = append(over.Mutations, spi.Delete{Key: p.Key})
				}
			}
		}
		r, err := l.LocationStore.Write(ctx, w)
		if err == nil && over.Mutations != nil {
			_, err = l.LocationStore.Write(ctx, over)
		}
		return r, err
	}
}

func shortBlobPut(r *relocation, change func(float64) float64) {
	r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		ms = spi.Retention(change(float64(ms)))
		res, err := r.RelocationStore.Put(ctx, ref, p, ms)
		if err == nil && ms == nothing {
			err = r.RelocationStore.Delete(ctx, ref)
		}
		return res, err
	}
}

func shortRenew(r *relocation, change func(float64) float64) {
	r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
		ms = spi.Retention(change(float64(ms)))
		res, err := r.RelocationStore.Renew(ctx, ref, ms)
		if err == nil && ms == nothing {
			err = r.RelocationStore.Delete(ctx, ref)
		}
		return res, err
	}
}

// refusedYet does something to the keys of Puts whose retention it refuses.
func refusedYet(l *location, do func(spi.Put) spi.Mutation) {
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		var done spi.WriteRequest
		for _, m := range w.Mutations {
			if p, ok := m.(spi.Put); ok && p.Retention != nil && *p.Retention > 1<<60 {
				done.Mutations = append(done.Mutations, do(p))
			}
		}
		if done.Mutations != nil {
			if _, err := l.LocationStore.Write(ctx, done); err != nil {
				return nil, fmt.Errorf("the mutant's own write: %w", err)
			}
		}
		return l.LocationStore.Write(ctx, w)
	}
}
