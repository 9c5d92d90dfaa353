package spicases

import (
	"fmt"
	"slices"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// What an operation after Close does is left open by the contract, which binds
// the framework to make none, so no case asks for it.
func lifetimeCases() []harness.Case {
	cases := []harness.Case{
		locationCase("lifetime/close-twice-location",
			"Closing a Location Store again is safe, and other instances go on working.",
			"L7.dispose", func(t *harness.T) { closeTwice(t, openLocation) }),
		relocationCase("lifetime/close-twice-relocation",
			"Closing a Relocation Store again is safe, and other instances go on working.",
			"R7.shared", func(t *harness.T) { closeTwice(t, openRelocation) }),
		locationCase("lifetime/close-unused", "A store that was never used can be closed.",
			"L7.dispose", func(t *harness.T) { closeUnused(t, openLocation) }),
		relocationCase("lifetime/close-unused-relocation", "A store that was never used can be closed.",
			"R7.shared", func(t *harness.T) { closeUnused(t, openRelocation) }),
		locationCase("lifetime/connections-released",
			"Closed Location Stores leave no connections behind that grow with their number.",
			"L7.release", func(t *harness.T) { connectionsReleased(t, "L7.release", openLocation) }),
		relocationCase("lifetime/connections-released-relocation",
			"Closed Relocation Stores leave no connections behind that grow with their number.",
			"R7.release", func(t *harness.T) { connectionsReleased(t, "R7.release", openRelocation) }),
		locationCase("lifetime/values-outlive", "Values, versions and expiry outlive the instance that wrote them.",
			"L3.value-durable L2.observation L7.dispose", valuesOutlive),
		relocationCase("lifetime/payloads-outlive", "Payloads and their expiry outlive the instance that stored them.",
			"R6.published R4.read R7.shared", payloadsOutlive),
		bothStores("stores/one-redis", "A Location and a Relocation Store on one Redis and one prefix keep equal names apart.",
			"L10.two-stores", func(t *harness.T) { sideBySide(t, t.Location(), t.Relocation()) }),
		bothStores("stores/one-redis-two-prefixes", "A Location and a Relocation Store work on one Redis with a prefix each.",
			"L10.two-stores", func(t *harness.T) {
				sideBySide(t, t.Target().OpenLocation(harness.Store{KeyPrefix: t.NewKeyPrefix("location")}),
					t.Target().OpenRelocation(harness.Store{KeyPrefix: t.NewKeyPrefix("relocation")}))
			}),
		bothStores("stores/two-redis", "A Location and a Relocation Store work on a Redis each, and neither "+
			"shows what is on the other.",
			"L10.two-stores", twoServers),
	}
	return slices.Concat(cases, sharedCases(), surfaceCases())
}

func bothStores(id, title, requirements string, run func(*harness.T), needs ...harness.Need) harness.Case {
	return locationCase(id, title, requirements, run, append(needs, harness.NeedRelocation)...)
}

// instance is a store of either kind, as far as its lifetime goes.
type instance struct {
	requirement string
	store       targets.Store
	work        func(name string) // puts and reads back under a new name
}

func openLocation(t *harness.T, s harness.Store) instance {
	l := t.Target().OpenLocation(s)
	return instance{"L7.dispose", l, func(name string) {
		l.MustPut(spi.Key(name), []byte(name), nil)
		t.EqualBytes("L7.dispose", "the value of "+name, []byte(name), l.MustFind(spi.Key(name)).Value.Bytes)
	}}
}

func openRelocation(t *harness.T, s harness.Store) instance {
	r := t.Target().OpenRelocation(s)
	return instance{"R7.shared", r, func(name string) {
		r.MustStore(spi.Reference(name), []byte(name), hour)
		t.EqualBytes("R7.shared", "the payload of "+name, []byte(name), r.MustFind(spi.Reference(name)).Bytes)
	}}
}

func mustClose(t *harness.T, i instance, when string) {
	if err := i.store.Close(); err != nil {
		t.Fatalf(i.requirement, "Close failed (%s): %v", when, err)
	}
}

func closeTwice(t *harness.T, open func(*harness.T, harness.Store) instance) {
	kept := open(t, harness.Store{})
	kept.work("before")
	for i := range 4 {
		closed := open(t, harness.Store{})
		closed.work(fmt.Sprint("closed", i))
		mustClose(t, closed, "first time")
		mustClose(t, closed, "second time")
		kept.work(fmt.Sprint("kept", i))
	}
}

func closeUnused(t *harness.T, open func(*harness.T, harness.Store) instance) {
	kept := open(t, harness.Store{})
	mustClose(t, open(t, harness.Store{}), "of an unused instance")
	kept.work("kept")
}

// connectionsReleased counts at a proxy of its own, where no one else connects.
// A provider may keep a few connections for all its stores.
func connectionsReleased(t *harness.T, requirement string, open func(*harness.T, harness.Store) instance) {
	const stores = 12
	proxy := t.Proxy(nil)
	for i := range stores {
		closed := open(t, harness.Store{Proxy: proxy})
		closed.work(fmt.Sprint("closed", i))
		mustClose(t, closed, "of a used instance")
	}
	_, total := proxy.Connections()
	t.Notef("the %d stores made %d connections", stores, total)
	t.Await(requirement, fmt.Sprintf("the end of the connections of %d closed stores, but for a few,", stores), 5*time.Second,
		func() bool {
			left, _ := proxy.Connections()
			return left < stores
		})
}

func valuesOutlive(t *harness.T) {
	first := otherInstance(t)
	want := seed(first, put("durable", "v"), putFor("limited", "v", hour))
	if err := first.Close(); err != nil {
		t.Fatalf("L7.dispose", "Close failed: %v", err)
	}
	second := otherInstance(t)
	same(t, "L3.value-durable", "what another instance reads", want, look(second, "durable", "limited"))
	second.MustApply(write(given(ifVersion("durable", want["durable"].Version)), put("durable", "w")))
}

func payloadsOutlive(t *harness.T) {
	first := t.Target().OpenRelocation(harness.Store{})
	_, given := store(t, first, "r", []byte("payload"), hour)
	if err := first.Close(); err != nil {
		t.Fatalf("R7.shared", "Close failed: %v", err)
	}
	f := given.find(t, t.Target().OpenRelocation(harness.Store{}).Citing("R6.published"), "r", "R4.read",
		"the expiry that another instance reads")
	t.EqualBytes("R6.published", "the payload that another instance reads", []byte("payload"), f.Bytes)
}

// sharedCases close one of two stores on one connection, once the one that
// opened it and once the other.
func sharedCases() []harness.Case {
	const sentence = "Of two stores that share a connection, one a %s and one a %s, either goes on working " +
		"when the other is closed."
	type opener = func(*harness.T, harness.Store) instance
	shared := func(first, second opener) func(*harness.T) {
		return func(t *harness.T) {
			for i, closeOwner := range []bool{false, true} {
				owner := first(t, harness.Store{KeyPrefix: t.NewKeyPrefix(fmt.Sprint("owner", i))})
				owner.work("a")
				guest := second(t, harness.Store{KeyPrefix: t.NewKeyPrefix(fmt.Sprint("guest", i)), Share: owner.store})
				guest.work("a")
				kept, closed := owner, guest
				if closeOwner {
					kept, closed = guest, owner
				}
				mustClose(t, closed, "of one of two stores on a connection")
				kept.work("b")
				mustClose(t, closed, "again")
				kept.work("c")
				mustClose(t, kept, "of the last store on a connection")
			}
		}
	}
	return []harness.Case{
		locationCase("lifetime/shared-locations", fmt.Sprintf(sentence, "Location Store", "Location Store"),
			"L7.dispose", shared(openLocation, openLocation), targets.CapSharedConnection),
		relocationCase("lifetime/shared-relocations", fmt.Sprintf(sentence, "Relocation Store", "Relocation Store"),
			"R7.shared", shared(openRelocation, openRelocation), targets.CapSharedConnection),
		bothStores("lifetime/shared-by-both", fmt.Sprintf(sentence, "Location Store", "Relocation Store"),
			"L7.dispose R7.shared L10.two-stores", shared(openLocation, openRelocation), targets.CapSharedConnection),
		bothStores("lifetime/shared-by-both-reversed", fmt.Sprintf(sentence, "Relocation Store", "Location Store"),
			"R7.shared L7.dispose L10.two-stores", shared(openRelocation, openLocation), targets.CapSharedConnection),
	}
}

// sideBySide gives key and reference the same name and changes one after the
// other.
func sideBySide(t *harness.T, l *harness.Location, r *harness.Relocation) {
	const req = "L10.two-stores"
	value, payload := []byte("value"), []byte("payload")
	l.MustMiss("name")
	r.MustStore("name", payload, hour)
	l.MustMiss("name")
	l.MustPut("name", value, nil)
	t.EqualBytes(req, "the payload", payload, r.MustFind("name").Bytes)
	t.EqualBytes(req, "the value", value, l.MustFind("name").Value.Bytes)
	items := l.MustScan("", 10)
	t.Checkf(len(items) == 1 && items[0].Key == "name", req, "a scan shows %d records, expected the value alone", len(items))
	l.MustDelete("name")
	t.EqualBytes(req, "the payload after the value was deleted", payload, r.MustFind("name").Bytes)
	l.MustPut("name", value, nil)
	r.MustRenew("name", day)
	r.MustDelete("name")
	f := l.MustFind("name")
	t.EqualBytes(req, "the value after the payload was deleted", value, f.Value.Bytes)
	t.Equal(req, "its expiry after the payload was renewed", spi.NoExpiry, f.Value.ExpiresAt)
	r.MustMiss("name")
}

func twoServers(t *harness.T) {
	second := harness.Store{Server: t.Server(redisenv.ServerOptions{})}
	sideBySide(t, t.Location(), t.Target().OpenRelocation(second))
	l, r := t.Target().OpenLocation(second), t.Relocation()
	l.MustMiss("name")
	r.MustMiss("name")
	sideBySide(t, l, r)
}
