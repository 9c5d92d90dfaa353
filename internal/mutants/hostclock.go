package mutants

import (
	"slices"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// hostClockMutants look at a host clock that the harness can set wrong, as it
// does with processes whose runtime asks the C library for the time.
func hostClockMutants() []Mutant {
	return []Mutant{
		hostClocked("clock/moved-host-read-time", "L3.store-now", "The time of a read is that of a host whose clock is off.",
			func(l *location, now func() spi.Millis) {
				l.read = changeFound(l, func(f *spi.Found) { f.StoreNow = now() })
			}, nil),
		hostClocked("clock/moved-host-blob-time", "R3.store-now", "The time of a read is that of a host whose clock is off.", nil,
			func(r *relocation, now func() spi.Millis) {
				r.read = changeBlob(r, func(f *spi.BlobFound) { f.StoreNow = now() })
			}),
		hostClocked("clock/moved-host-expiry", "L3.expiry-clock", "An expiry is computed from the clock of a host that is off.",
			hostRetentionBy, nil),
		hostClocked("clock/moved-host-blob-expiry", "R3.expiry-clock",
			"An expiry is computed from the clock of a host that is off.", nil,
			blobHostRetentionBy),
	}
}

func hostClocked(id, breaks, title string, onLocation func(*location, func() spi.Millis),
	onRelocation func(*relocation, func() spi.Millis)) Mutant {
	var skewed func(offset time.Duration) targets.Provider
	skewed = func(offset time.Duration) targets.Provider {
		now := func() spi.Millis { return hostNow() + spi.Millis(offset.Milliseconds()) }
		p := hooked(refprovider.New(), func(l *location) {
			if onLocation != nil {
				onLocation(l, now)
			}
		}, func(r *relocation) {
			if onRelocation != nil {
				onRelocation(r, now)
			}
		})
		p.Info.Capabilities = append(slices.Clone(p.Info.Capabilities), targets.CapClock)
		p.Skewed = skewed
		return p
	}
	return provided(id, breaks, title, func() targets.Provider { return skewed(0) })
}
