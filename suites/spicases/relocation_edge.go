package spicases

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Payloads that expire one after the other.
const (
	edgeFirst = 60 // ms of retention of the first payload
	edgeStep  = 6  // and how much more each next one has
)

// ending stores n payloads, of which groups of size expire together.
func ending(t *harness.T, r *harness.Relocation, n, size int) []lease {
	leases := make([]lease, n)
	for i := range leases {
		_, leases[i] = store(t, r, edgeRef(i), []byte("brief"), spi.Retention(edgeFirst+i/size*edgeStep))
	}
	return leases
}

func edgeRef(i int) spi.Reference { return spi.Reference(fmt.Sprint("r", i)) }

// A payload is found until its expiry and never later; in the millisecond of the
// expiry itself, as far as Redis's clock is known, either is right.
func foundBeforeExpiry(t *harness.T) {
	const payloads, readers = 20, 4
	r := t.Relocation()
	leases := ending(t, r, payloads, 1)
	t.Concurrently(readers, func(int) {
		for i, given := range leases {
			low, high := given.Expiry(given.retention)
			for found := true; found; {
				read := t.Bracket(func() { _, found = r.MustRead(edgeRef(i)).(spi.BlobFound) })
				if found && read.Before > high {
					t.Fatalf("R4.read", "a payload was found at %d, although it expired at %d at the latest", read.Before, high)
				}
				t.Checkf(found || read.After >= low, "R4.read",
					"a payload was missing at %d, although it expires at %d at the earliest", read.After, low)
			}
		}
	})
}

// renewAtExpiry renews each payload once, in groups of four that expire
// together: some a fraction of a millisecond before the expiry, some after it.
// What a read after it shows decides whether the answer was right.
func renewAtExpiry(t *harness.T) {
	const payloads, renewers = 80, 4
	r := t.Relocation()
	leases := ending(t, r, payloads, renewers)
	t.Concurrently(renewers, func(renewer int) {
		for i := renewer; i < payloads; i += renewers {
			low, high := leases[i].Expiry(leases[i].retention)
			ahead := time.Duration(renewer) * 300 * time.Microsecond // for the way to Redis
			awaitMoment(t, time.UnixMilli(int64(low+1)).Add(-ahead))
			var result spi.BlobRenewResult
			renewal := t.Bracket(func() { result = renew(t, "R4.renew", r, edgeRef(i), hour) })
			if _, missing := result.(spi.Missing); missing {
				t.Checkf(renewal.After >= low, "R4.renew",
					"Renew answered Missing at %d, although the payload expires at %d at the earliest",
					renewal.After, low)
				var there bool
				read := t.Bracket(func() { _, there = r.MustRead(edgeRef(i)).(spi.BlobFound) })
				t.Checkf(!there || read.Before <= high, "R4.renew",
					"Renew answered Missing at %d, but the payload was found at %d, after its expiry",
					renewal.After, read.Before)
				continue
			}
			t.Checkf(renewal.Before <= high, "R4.renew",
				"Renew answered Renewed at %d, although the payload had expired at %d at the latest",
				renewal.Before, high)
			lease{renewal, hour}.find(t, r, edgeRef(i), "R4.renew", "expiresAt on read after Renewed")
		}
	})
}

// awaitMoment waits until Redis's clock shows the moment or a later one.
func awaitMoment(t *harness.T, moment time.Time) {
	for {
		now, err := t.Redis().Time(t.Context()).Result()
		if err != nil {
			t.Troublef("the time of Redis could not be read: %v", err)
		}
		left := moment.Sub(now)
		if left <= 0 {
			return
		}
		if left > 3*time.Millisecond {
			t.Pause(left - 2*time.Millisecond)
		}
	}
}
