package mutants

import (
	"context"
	"slices"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// clockMutants tell or judge time by another clock than Redis's (L3, R3).
func clockMutants() []Mutant {
	const now = "local now = clock()"
	return slices.Concat([]Mutant{
		script("clock/stale-write", "L3.store-now", "The time of a commit is 20 ms old.", onWrite(now, now+" - 20")),
		script("clock/stale-read", "L3.store-now", "The time of a read is 20 ms old.", onRead(now, now+" - 20")),
		script("clock/whole-seconds", "L3.store-now", "Times are in whole seconds.", onRead(now, now+" now = now - now % 1000"),
			onScan(now, now+" now = now - now % 1000"), onWrite(now, now+" now = now - now % 1000")),
		onLocation("clock/host-page-time", "L3.store-now", "The time of a page is the host's.", func(l *location) {
			l.scan = changePage(l, func(_ spi.ScanRequest, p *spi.Page) { p.StoreNow = hostNow() })
		}),
		script("clock/page-time-of-the-snapshot", "L3.store-now", "Every page tells a time of 20 ms before.",
			onScan("local reply = {'page', text(now), ''}", "local reply = {'page', text(now - 20), ''}")),
		onLocation("clock/host-read-time", "L3.store-now", "The time of a read is the host's.", func(l *location) {
			l.read = changeFound(l, func(f *spi.Found) { f.StoreNow = hostNow() })
		}),
		onLocation("clock/host-expiry", "L3.expiry-clock", "An expiry is computed from the host's clock.", hostRetention),
		onLocation("clock/host-judges", "L3.expiry-clock", "The host's clock judges whether a value has expired.",
			func(l *location) {
				l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
					r, err := l.LocationStore.Read(ctx, key)
					if f, ok := r.(spi.Found); ok && f.Value.ExpiresAt != spi.NoExpiry && f.Value.ExpiresAt <= hostNow() {
						return spi.Missing{StoreNow: f.StoreNow}, nil
					}
					return r, err
				}
			}),
		script("clock/retention-in-seconds", "L3.expiry-clock", "A retention is taken for seconds.",
			onWrite("expires = now + retention", "expires = now + retention * 1000")),

		script("clock/blob-stale-renew", "R3.store-now", "The time of a renewal is 20 ms old.",
			onRenew("text(now), text(expires)}", "text(now - 20), text(expires)}")),
		script("clock/blob-stale-put", "R3.store-now", "The time of a Put is 20 ms old.",
			onPut("local now = clock()", "local now = clock() - 20")),
		onRelocation("clock/blob-host-time", "R3.store-now", "The time of a read is the host's.", func(r *relocation) {
			r.read = changeBlob(r, func(f *spi.BlobFound) { f.StoreNow = hostNow() })
		}),
		script("clock/blob-retention-in-seconds", "R3.expiry-clock", "A retention is taken for seconds.",
			onPut("now + tonumber(ARGV[2])", "now + tonumber(ARGV[2]) * 1000")),
		onRelocation("clock/blob-host-expiry", "R3.expiry-clock", "An expiry is computed from the host's clock.",
			blobHostRetention),
		onRelocation("clock/blob-host-judges", "R3.expiry-clock", "The host's clock judges whether a payload has expired.",
			func(r *relocation) {
				r.read = func(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
					result, err := r.RelocationStore.Read(ctx, ref)
					if f, ok := result.(spi.BlobFound); ok && f.ExpiresAt <= hostNow() {
						return spi.Missing{StoreNow: f.StoreNow}, nil
					}
					return result, err
				}
			}),
	})
}

// skewOver is how far the host's clock must be from Redis's to count: two
// readings of one clock differ by the time between them.
const skewOver = 5000

// hostRetention makes the expiry of a Put the host's time plus its retention.
func hostRetention(l *location) { hostRetentionBy(l, hostNow) }

func hostRetentionBy(l *location, hostNow func() spi.Millis) {
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		expires := func(m spi.Mutation) bool {
			p, ok := m.(spi.Put)
			return ok && p.Retention != nil && *p.Retention > 0
		}
		if !slices.ContainsFunc(w.Mutations, expires) {
			return l.LocationStore.Write(ctx, w)
		}
		r, err := l.LocationStore.Read(ctx, "clock")
		m, ok := r.(spi.Missing)
		if skew := hostNow() - m.StoreNow; err == nil && ok && abs(skew) > skewOver {
			w.Mutations = slices.Clone(w.Mutations)
			for i, m := range w.Mutations {
				if expires(m) {
					p := m.(spi.Put)
					p.Retention = spi.For(max(1, float64(*p.Retention)+float64(skew)))
					w.Mutations[i] = p
				}
			}
		}
		return l.LocationStore.Write(ctx, w)
	}
}

// blobHostRetention is hostRetention for the Relocation Store.
func blobHostRetention(r *relocation) { blobHostRetentionBy(r, hostNow) }

func blobHostRetentionBy(r *relocation, hostNow func() spi.Millis) {
	r.put = func(ctx context.Context, ref spi.Reference, p []byte, ms spi.Retention) (spi.BlobPutResult, error) {
		result, err := r.RelocationStore.Put(ctx, ref, p, ms)
		stored, ok := result.(spi.Stored)
		skew := hostNow() - stored.StoreNow
		if !ok || abs(skew) <= skewOver {
			return result, err
		}
		renewed, err := r.RelocationStore.Renew(ctx, ref, max(1, ms+spi.Retention(skew)))
		if n, ok := renewed.(spi.Renewed); ok {
			stored.ExpiresAt = n.ExpiresAt
		}
		return stored, err
	}
}

func abs(ms spi.Millis) spi.Millis { return max(ms, -ms) }
