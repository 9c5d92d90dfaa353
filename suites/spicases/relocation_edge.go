package spicases

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Payloads that expire one after the other. Redis holds a key for the whole
// millisecond of its expiry, in which the contract says it is gone: only one
// that is asked for in that very millisecond shows the difference.
const (
	edgeFirst = 60 // ms of retention of the first payload
	edgeStep  = 6  // and how much more each next one has
)

// ending stores n payloads, of which groups of size expire together, and
// returns their expiries.
func ending(r *harness.Relocation, n, size int) []spi.Millis {
	expiries := make([]spi.Millis, n)
	for i := range expiries {
		expiries[i] = r.MustStore(edgeRef(i), []byte("brief"), spi.Retention(edgeFirst+i/size*edgeStep)).ExpiresAt
	}
	return expiries
}

func edgeRef(i int) spi.Reference { return spi.Reference(fmt.Sprint("r", i)) }

func foundBeforeExpiry(t *harness.T) {
	const payloads, readers = 20, 4
	r := t.Relocation()
	ending(r, payloads, 1)
	t.Concurrently(readers, func(int) {
		for i := range payloads {
			for {
				f, ok := r.MustRead(edgeRef(i)).(spi.BlobFound)
				if !ok {
					break
				}
				if f.StoreNow >= f.ExpiresAt {
					t.Fatalf("R4.read", "a payload was found at StoreNow %d, although it expires at %d", f.StoreNow, f.ExpiresAt)
				}
			}
		}
	})
}

// renewAtExpiry renews each payload once, in groups of four that expire
// together: some a fraction of a millisecond before the expiry, some after it.
func renewAtExpiry(t *harness.T) {
	const payloads, renewers = 80, 4
	r := t.Relocation()
	expiries := ending(r, payloads, renewers)
	t.Concurrently(renewers, func(renewer int) {
		for i := renewer; i < payloads; i += renewers {
			ahead := time.Duration(renewer) * 300 * time.Microsecond // for the way to Redis
			awaitMoment(t, time.UnixMilli(int64(expiries[i])).Add(-ahead))
			result := renew(t, "R4.renew", r, edgeRef(i), hour)
			found, there := r.MustRead(edgeRef(i)).(spi.BlobFound)
			switch n := result.(type) {
			case spi.Missing:
				t.Checkf(!there, "R4.renew", "Renew answered Missing at StoreNow %d, but then the payload that expires at %d was found", n.StoreNow, expiries[i])
			case spi.Renewed:
				t.Checkf(n.StoreNow < expiries[i], "R4.renew", "Renew answered Renewed at StoreNow %d, although the payload had expired at %d", n.StoreNow, expiries[i])
				if t.Checkf(there, "R4.renew", "Renew answered Renewed at StoreNow %d, but then the payload was Missing", n.StoreNow) {
					t.Near("R4.renew", "expiresAt on read", n.ExpiresAt, found.ExpiresAt, blobSlack)
				}
			}
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
