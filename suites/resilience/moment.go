package resilience

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// momentCases look at the values of a Location Store in the very millisecond
// in which they expire, and in those around it: the clock of Redis stands
// still there, so that no answer is a matter of luck.
//
// L3.expired-missing: a value has expired when expiresAt <= StoreNow.
func momentCases() []harness.Case {
	const title = "In the very millisecond of its expiry, and not before, "
	return []harness.Case{
		locationCase("moment/read", title+"a value reads as Missing.",
			"L3.expired-missing L3.expiry-clock L3.store-now", moment("L3.expired-missing", readAt)),
		locationCase("moment/missing-condition", title+"a value is missing to a Missing condition.",
			"L4.missing L3.store-now", moment("L4.missing", missingAt)),
		locationCase("moment/version-condition", title+"the version of a value fails a Version condition.",
			"L4.version L3.store-now", moment("L4.version", versionAt)),
		locationCase("moment/value-condition", title+"the bytes of a value fail a Value condition.",
			"L4.value L3.store-now", moment("L4.value", valueAt), targets.CapValueCondition),
		locationCase("moment/scan", title+"a scan leaves a value out.",
			"L5.complete L3.store-now", moment("L5.complete", scanAt)),
		locationCase("moment/open-scan",
			"A scan that began in the millisecond before an expiry shows the value in that of its expiry and after it.",
			"L5.snapshot", openScanAtExpiry),
		locationCase("moment/put",
			"A Put in the millisecond in which the old value expires stays, whatever clean-up does then and later.",
			"L3.value-durable L4.put L3.version-fresh L5.complete", putAtExpiry),
		locationCase("moment/delete", "A Delete in the millisecond in which a value expires applies.",
			"L4.delete L4.applied", deleteAtExpiry),
	}
}

// around are the milliseconds, from that of the expiry, in which a moment is
// looked at. A store time may be rounded by one, so that each is judged by the
// time that its answer carries.
var around = []spi.Millis{-2, -1, 0, 1, 2}

// openFrozen is an instance on a Redis whose clock stands still.
func openFrozen(t *harness.T, k *kind) *clocked {
	c := openClock(t, k, 0)
	c.freeze(c.t.NowOf(c.client) + 1000)
	return c
}

// dying is a value that is about to expire.
type dying struct {
	key     spi.Key
	bytes   []byte
	version spi.Version
	expires spi.Millis
}

// dyingValues puts n values that expire together.
func dyingValues(c *clocked, n int) []dying {
	values := make([]dying, n)
	for i := range values {
		v := dying{key: spi.Key(fmt.Sprintf("k%d", i)), bytes: []byte("v")}
		v.version = c.location.MustPut(v.key, v.bytes, spi.For(float64(hour)))
		v.expires = c.location.MustFind(v.key).Value.ExpiresAt
		values[i] = v
	}
	return values
}

// work writes and scans beside the values: what clean-up is due then is done.
func work(c *clocked) {
	c.location.MustPut("beside", []byte("v"), nil)
	c.location.MustPage(spi.ScanRequest{Prefix: "beside", Limit: 10})
	c.location.MustPut("beside", []byte("v"), nil)
}

// moment asks one value in each of the milliseconds around its expiry whether
// it is alive, and compares the answer with the store time that it carries.
func moment(requirement string, ask func(c *clocked, v dying) (what string, alive bool, now spi.Millis)) func(*harness.T) {
	return func(t *harness.T) {
		c := openFrozen(t, &location)
		values := dyingValues(c, len(around))
		for i, v := range values {
			clock := v.expires + around[i]
			c.freeze(clock)
			t.Apart(func() {
				work(c)
				what, alive, now := ask(c, v)
				t.Between("L3.store-now", "StoreNow of "+what, clock-1, now, clock+1)
				t.Checkf(alive == (now < v.expires), requirement, "%s at StoreNow %d, but the value's expiresAt is %d", what, now,
					v.expires)
			})
		}
	}
}

func readAt(c *clocked, v dying) (string, bool, spi.Millis) {
	switch r := c.location.MustRead(v.key).(type) {
	case spi.Found:
		c.t.Checkf(r.Value.ExpiresAt == v.expires, "L3.expiry-clock", "expiresAt is %d, and was %d before", r.Value.ExpiresAt,
			v.expires)
		return "Read answered Found", true, r.StoreNow
	case spi.Missing:
		return "Read answered Missing", false, r.StoreNow
	}
	return "", false, 0
}

// underCondition writes the key under a condition and reports whether it held.
func underCondition(c *clocked, v dying, condition spi.Condition) (held bool, now spi.Millis) {
	switch r := c.location.MustWrite(putIf(v.key, "w", condition)).(type) {
	case spi.Applied:
		return true, r.StoreNow
	case spi.Conflict:
		return false, r.StoreNow
	}
	return false, 0
}

func missingAt(c *clocked, v dying) (string, bool, spi.Millis) {
	held, now := underCondition(c, v, ifMissing(v.key))
	if held {
		return "a Missing condition held", false, now
	}
	return "a Missing condition failed", true, now
}

func versionAt(c *clocked, v dying) (string, bool, spi.Millis) {
	held, now := underCondition(c, v, ifVersion(v.key, v.version))
	return fmt.Sprintf("a Version condition answered %t", held), held, now
}

func valueAt(c *clocked, v dying) (string, bool, spi.Millis) {
	held, now := underCondition(c, v, ifValue(v.key, v.bytes))
	return fmt.Sprintf("a Value condition answered %t", held), held, now
}

func scanAt(c *clocked, v dying) (string, bool, spi.Millis) {
	page := c.location.MustPage(spi.ScanRequest{Prefix: string(v.key), Limit: 10})
	n := len(c.location.MustFinish(string(v.key), 10, page))
	return fmt.Sprintf("a scan showed %d records", n), n > 0, page.StoreNow
}

func openScanAtExpiry(t *harness.T) {
	c := openFrozen(t, &location)
	l := c.location
	values := dyingValues(c, 4)
	for _, after := range []spi.Millis{0, 2} {
		c.freeze(values[0].expires - 2)
		page := l.MustPage(spi.ScanRequest{Prefix: "k", Limit: 1})
		c.freeze(values[0].expires + after)
		work(c)
		items := l.MustFinish("k", 1, page)
		t.Checkf(len(items) == len(values), "L5.snapshot",
			"a scan that began 2 ms before %d records expired, and went on %d ms after it, shows %d of them", len(values), after,
			len(items))
	}
}

func putAtExpiry(t *harness.T) {
	c := openFrozen(t, &location)
	l := c.location
	values := dyingValues(c, len(around))
	versions := map[spi.Key]spi.Version{}
	for i, v := range values {
		c.freeze(v.expires + around[i])
		t.Apart(func() {
			versions[v.key] = l.MustPut(v.key, []byte("next"), nil)
			t.Checkf(versions[v.key] != v.version, "L3.version-fresh",
				"the version %q of the value that expired was issued again", v.version)
		})
	}
	end := values[0].expires
	for _, later := range []spi.Millis{2, 1500, 65_000} {
		c.freeze(end + later)
		work(c)
		work(c)
		for key, version := range versions {
			t.Apart(func() {
				f, ok := l.MustRead(key).(spi.Found)
				t.Checkf(ok && string(f.Value.Bytes) == "next" && f.Value.Version == version && f.Value.ExpiresAt == spi.NoExpiry,
					"L3.value-durable",
					"%d ms after the old value of %q expired, the durable one put then is %s", later, key,
					harness.Describe(l.MustRead(key)))
			})
		}
		items := l.MustScan("k", 10)
		t.Checkf(len(items) == len(versions), "L5.complete",
			"%d ms after the old values expired, a scan shows %d of the %d put then",
			later, len(items), len(versions))
	}
}

func deleteAtExpiry(t *harness.T) {
	c := openFrozen(t, &location)
	for i, v := range dyingValues(c, len(around)) {
		c.freeze(v.expires + around[i])
		t.Apart(func() {
			a := c.location.MustDelete(v.key)
			t.Checkf(len(a.PutVersions) == 0, "L4.applied", "a Delete answered the versions %v", a.PutVersions)
			c.location.MustMiss(v.key)
			items := c.location.MustScan(string(v.key), 10)
			t.Checkf(len(items) == 0, "L4.delete", "a scan shows a value that was deleted %d ms from its expiry", around[i])
		})
	}
}
