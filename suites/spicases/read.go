package spicases

import (
	"fmt"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func readCases() []harness.Case {
	cases := []harness.Case{
		locationCase("read/one-observation", "Bytes, version and expiry of a read belong together while "+
			"the value is overwritten.",
			"L2.observation", readObservation),
		locationCase("read/around-expiry", "The store time of a read is the one by which it was Found or Missing.",
			"L2.observation L3.expired-missing", readAroundExpiry),
		locationCase("read/missing", "An absent, deleted or expired key reads as Missing.", "L2.observation L3.expired-missing",
			readMissing),
		locationCase("read/changes-nothing", "Reading leaves version and expiry alone and creates nothing.", "L2.observation",
			readChangesNothing),
		locationCase("read/store-now", "A read carries the time of the provider's clock.", "L3.store-now", readStoreNow),
	}
	for _, c := range []client{sameInstance, anotherInstance, theReference} {
		cases = append(cases, locationCase("read/current-"+c.slug, "A read shows at once what was changed by "+c.title+".",
			"L2.observation", func(t *harness.T) { readCurrent(t, c.open(t, t.Location(), harness.Store{})) }, c.needs...))
	}
	return cases
}

// An exact read returns bytes, version, expiry and StoreNow as one single
// observation. Each write's bytes and retention are its number, so whatever is
// read must fit the version that this very write was given. A provider that
// fetches value and version one after the other fails here.
func readObservation(t *harness.T) {
	l := instances(t, 3)
	const writes = 150
	retention := func(n int) float64 { return float64(3_600_000 + n) }
	want := map[spi.Version]spi.Value{}
	overwrite := func(n int) {
		a := l[0].MustApply(write(nil, putFor("k", fmt.Sprintf("value %d", n), retention(n))))
		v := versionsOf(a)["k"]
		want[v] = spi.Value{Bytes: []byte(fmt.Sprintf("value %d", n)), Version: v,
			ExpiresAt: a.StoreNow + spi.Millis(retention(n))}
	}
	overwrite(0)
	var mu sync.Mutex
	var seen []spi.Value
	reader := func(l *harness.Location) func() {
		return func() {
			f := l.MustFind("k")
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, f.Value)
		}
	}
	during(t, func() {
		for n := range writes {
			overwrite(n + 1)
		}
	}, reader(l[0]), reader(l[1]), reader(l[2]))
	for _, got := range seen {
		if !same(t, "L2.observation", "a read during overwrites", records{"k": want[got.Version]}, records{"k": got}) {
			return
		}
	}
}

// Expiry and StoreNow are parts of the same observation: Found needs
// StoreNow < expiresAt, Missing needs StoreNow >= expiresAt.
func readAroundExpiry(t *harness.T) {
	l := t.Location()
	a := l.MustApply(write(nil, putFor("k", "value", 100)))
	expiresAt := a.StoreNow + 100
	for {
		switch r := l.MustRead("k").(type) {
		case spi.Found:
			if !t.Checkf(r.StoreNow < r.Value.ExpiresAt, "L2.observation", "Found at %d a value that expired at %d", r.StoreNow,
				r.Value.ExpiresAt) ||
				!t.Checkf(r.StoreNow < expiresAt, "L3.expired-missing", "Found at %d, after a retention that ended at %d",
					r.StoreNow, expiresAt) {
				return
			}
		case spi.Missing:
			t.Checkf(r.StoreNow >= expiresAt, "L2.observation", "Missing at %d, before %d, when the value expires", r.StoreNow,
				expiresAt)
			return
		}
	}
}

func readMissing(t *harness.T) {
	l := t.Location()
	l.Citing("L2.observation").MustMiss("never")
	stored := seed(l, put("deleted", "value"), putFor("expired", "value", 50), putFor("both", "value", 50))
	l.MustDelete("deleted", "both")
	awaitExpiry(t, max(stored["expired"].ExpiresAt, stored["both"].ExpiresAt))
	l.Citing("L2.observation").MustMiss("deleted")
	l.Citing("L2.observation").MustMiss("both")
	l.MustMiss("expired")
	// A second read says the same: nothing comes back.
	same(t, "L2.observation", "at the second read", records{}, look(l, "never", "deleted", "expired", "both"))
}

func readChangesNothing(t *harness.T) {
	l := t.Location()
	want := seed(l, put("durable", "value"), putFor("expiring", "value", 3_600_000))
	for range 5 {
		same(t, "L2.observation", "after earlier reads", want, look(l, "durable", "expiring", "absent"))
	}
	l.MustApply(write(given(ifMissing("absent"))))
	for k, v := range want {
		l.MustApply(write(given(ifVersion(k, v.Version))))
	}
}

// StoreNow is the provider's clock (Redis TIME) at the read.
func readStoreNow(t *harness.T) {
	l := t.Location()
	l.MustPut("k", []byte("value"), nil)
	for range 5 {
		bracketed(t, "Found", func() spi.Millis { return l.MustFind("k").StoreNow })
		bracketed(t, "Missing", func() spi.Millis { return l.MustMiss("absent").StoreNow })
	}
}

// Read returns the current bytes. A provider that answers from a cache of its
// own fails here.
func readCurrent(t *harness.T, other *harness.Location) {
	l := t.Location()
	l.MustMiss("k")
	for n := range 5 {
		want := seed(other, put("k", fmt.Sprintf("value %d", n)))
		same(t, "L2.observation", "after a Put", want, look(l, "k"))
	}
	other.MustDelete("k")
	same(t, "L2.observation", "after the Delete", records{}, look(l, "k"))
}
