package mutants

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// citingMutants break what some cases are about above all, where the other
// mutants that these cases find break something beside it.
func citingMutants() []Mutant {
	return []Mutant{
		script("version/of-the-day", "L3.version-fresh", "A version is the number of the day.",
			issued("text(math.floor(now / 86400000))")...),
		puts("value/long-digits", "L3.value-bytes", "A value that is a number of more than 15 digits loses some of them.",
			func(p spi.Put) (spi.Put, error) {
				if n, err := strconv.ParseUint(string(p.Bytes), 10, 64); err == nil && n > 1<<53 {
					p.Bytes = strconv.AppendFloat(nil, float64(n), 'f', 0, 64)
				}
				return p, nil
			}),
		onLocation("batch/versions-swapped", "L4.applied", "Applied names the versions of two Puts the wrong way round.",
			func(l *location) {
				l.write = changeApplied(l, func(_ spi.WriteRequest, a *spi.Applied) {
					if n := len(a.PutVersions); n > 1 {
						first, last := &a.PutVersions[0], &a.PutVersions[n-1]
						first.Version, last.Version = last.Version, first.Version
					}
				})
			}),
		onLocation("batch/puts-at-once", "L4.burst", "While two Puts of a key are under way further ones fail.",
			fewAtOnce),
		onLocation("layout/fails-and-puts", "L4.all-or-nothing",
			"A write that fails at an unreadable record still puts its other keys.",
			func(l *location) {
				l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
					r, err := l.LocationStore.Write(ctx, w)
					if spi.KindOf(err) == spi.KindStoreFailure && len(w.Conditions) > 0 {
						_, _ = l.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations})
					}
					return r, err
				}
			}),
		provided("failure/location-timeout-is-argument", "L6.failure-class L6.timeout",
			"A timeout is reported as an argument error.",
			reclassified(spi.KindTimeout, spi.KindArgument)),
		provided("failure/relocation-timeout-is-argument", "R5.failure-class R5.timeout",
			"A timeout is reported as an argument error.",
			reclassified(spi.KindTimeout, spi.KindArgument)),
		provided("blob-layout/prefix-without-patterns", "R8.prefix", "Glob characters in a key prefix are replaced.",
			func() targets.Provider {
				plain := strings.NewReplacer("*", "_", "?", "_", "[", "_", "]", "_")
				return configured(func(c targets.StoreConfig) targets.StoreConfig {
					c.KeyPrefix = plain.Replace(c.KeyPrefix)
					return c
				})
			}),
		onRelocation("chunk/few-thousand", "P3.bounds", "A store takes 4,000 payloads and refuses more.", func(r *relocation) {
			var puts atomic.Int32
			r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
				if puts.Add(1) > 4000 {
					return nil, failure("the store is full")
				}
				return r.RelocationStore.Put(ctx, ref, p, ms)
			}
		}),
	}
}

// fewAtOnce refuses Puts of a key of which two are under way.
func fewAtOnce(l *location) {
	var mu sync.Mutex
	busy := map[spi.Key]int{}
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		if len(w.Mutations) != 1 {
			return l.LocationStore.Write(ctx, w)
		}
		key := w.Mutations[0].MutationKey()
		mu.Lock()
		full := busy[key] == 2
		if !full {
			busy[key]++
		}
		mu.Unlock()
		if full {
			return nil, failure("two writes of the key are under way")
		}
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			busy[key]--
		}()
		return l.LocationStore.Write(ctx, w)
	}
}
