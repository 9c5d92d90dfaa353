package resilience

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// clockCases run on a Redis with a clock of its own. A provider that looks at
// the host's clock is off by hours there, and what expires in hours has
// expired at once when the clock jumps.
func clockCases() []harness.Case {
	var cases []harness.Case
	for _, skew := range []struct {
		slug, title, host string
		by                time.Duration
	}{
		{"ahead", "an hour ahead of the host", "an hour ahead of Redis", time.Hour},
		{"behind", "an hour behind the host", "an hour behind Redis", -time.Hour},
	} {
		cases = append(cases,
			locationCase("clock/"+skew.slug+"-location",
				"With the clock of Redis "+skew.title+", store times and expiries of a Location Store are those of Redis.",
				"L3.expiry-clock L3.store-now L5.complete",
				func(t *harness.T) { locationTimes(openClock(t, &location, skew.by)) }),
			relocationCase("clock/"+skew.slug+"-relocation",
				"With the clock of Redis "+skew.title+", store times and expiries of a Relocation Store are those of Redis.",
				"R3.expiry-clock R3.store-now", func(t *harness.T) { relocationTimes(openClock(t, &relocation, skew.by)) }),
			slowToStart(locationCase("clock/host-"+skew.slug+"-location",
				"With the target's host clock "+skew.host+", store times and expiries of a Location Store are those of Redis.",
				"L3.expiry-clock L3.store-now L5.complete",
				func(t *harness.T) { locationTimes(openSkewed(t, &location, skew.by)) }, targets.CapClock)),
			slowToStart(relocationCase("clock/host-"+skew.slug+"-relocation",
				"With the target's host clock "+skew.host+", store times and expiries of a Relocation Store are those of Redis.",
				"R3.expiry-clock R3.store-now", func(t *harness.T) { relocationTimes(openSkewed(t, &relocation, skew.by)) },
				targets.CapClock)))
	}
	return append(cases,
		locationCase("clock/jump-location",
			"When the clock of Redis jumps past an expiry, the value is Missing to every operation, and durable values stay.",
			"L3.expiry-clock L3.expired-missing L3.value-durable L3.store-now L5.complete", jumpLocation),
		locationCase("clock/jump-back", "When the clock of Redis jumps back, writes still issue new versions and "+
			"the last one is current.",
			"L3.version-fresh L3.store-now", jumpBack),
		locationCase("clock/jump-scan", "A snapshot that meets a jump of the clock shows all that it fixed, or is "+
			"Expired; a new one shows what lives.",
			"L5.snapshot L5.expired L3.expiry-clock L3.store-now L5.complete", jumpScan),
		locationCase("clock/aged-scan", "A scan stays whole while clean-up that came due two seconds later removes what "+
			"was overwritten or deleted.",
			"L5.snapshot L5.complete", func(t *harness.T) { agedScan(t, 2*time.Second, false) }),
		locationCase("clock/outlived-scan",
			"A scan that is continued after 65 seconds of clean-up is whole or Expired, and never a part of its snapshot.",
			"L5.snapshot L5.expired", func(t *harness.T) { agedScan(t, 65*time.Second, true) }),
		relocationCase("clock/jump-relocation",
			"When the clock of Redis jumps past an expiry, the payload is Missing to every operation.",
			"R3.expiry-clock R4.renew R4.put R3.store-now", jumpRelocation),
		relocationCase("clock/orphan", "Over two days a payload lives as long as it is renewed in time, and one that is "+
			"not disappears after its retention.",
			"R6.orphan R6.published R4.renew", orphan))
}

// slowToStart is a case that waits until the target has started under another
// host clock, which takes up to two minutes.
func slowToStart(c harness.Case) harness.Case {
	c.Timeout = 4 * time.Minute
	c.Slow = true
	return c
}

// clocked is an instance on a Redis whose clock can be moved.
type clocked struct {
	t          *harness.T
	server     *redisenv.Server
	client     *redis.Client
	location   *harness.Location
	relocation *harness.Relocation
}

func openClock(t *harness.T, k *kind, skew time.Duration) *clocked {
	s := t.Server(redisenv.ServerOptions{Clock: true, InitialSkew: skew})
	c := &clocked{t: t, server: s, client: t.Client(s)}
	if k == &location {
		c.location = t.Target().OpenLocation(harness.Store{Server: s})
	} else {
		c.relocation = t.Target().OpenRelocation(harness.Store{Server: s})
	}
	return c
}

// openSkewed is an instance whose own host clock is off, on the main Redis.
func openSkewed(t *harness.T, k *kind, skew time.Duration) *clocked {
	c := &clocked{t: t, server: t.MainServer(), client: t.Redis()}
	if p := t.SkewedTarget(skew); k == &location {
		c.location = p.OpenLocation(harness.Store{})
	} else {
		c.relocation = p.OpenRelocation(harness.Store{})
	}
	return c
}

// set moves the clock to the offset from the host's.
func (c *clocked) set(offset time.Duration) {
	c.moved(c.server.SetClock(c.t.Context(), offset))
}

// freeze lets the clock stand still in a millisecond.
func (c *clocked) freeze(now spi.Millis) {
	c.moved(c.server.FreezeClock(c.t.Context(), int64(now)))
}

func (c *clocked) moved(err error) {
	var unavailable *redisenv.Unavailable
	if errors.As(err, &unavailable) {
		c.t.Skipf("%s", unavailable.Reason)
	}
	if err != nil {
		c.t.Troublef("the clock of the server did not move: %v", err)
	}
}

// bracketed checks that the store time that f returns lies between two looks
// at the clock of Redis.
func (c *clocked) bracketed(requirement, what string, f func() spi.Millis) spi.Millis {
	var now spi.Millis
	low, high := c.t.BracketOn(c.client, func() { now = f() }).Now()
	c.t.Between(requirement, "StoreNow of "+what, low, now, high)
	return now
}

func locationTimes(c *clocked) {
	const req = "L3.store-now"
	l := c.location
	c.bracketed(req, "Missing", func() spi.Millis { return l.MustMiss("k").StoreNow })
	for i, retention := range []spi.Millis{30 * 60 * 1000, 2 * hour} { // on either side of the skew
		key := spi.Key(fmt.Sprint("k", i))
		applied := c.bracketed(req, "Applied", func() spi.Millis {
			return l.MustApply(write(nil, putFor(key, "v", float64(retention)))).StoreNow
		})
		c.bracketed(req, "Found", func() spi.Millis {
			f := l.MustFind(key)
			c.t.Checkf(f.Value.ExpiresAt == applied+retention, "L3.expiry-clock",
				"a retention of %d ms from StoreNow %d expires at %d, expected %d",
				retention, applied, f.Value.ExpiresAt, applied+retention)
			return f.StoreNow
		})
		c.bracketed(req, "Conflict", func() spi.Millis {
			return l.MustConflict(write(given(ifMissing(key)), put(key, "w"))).StoreNow
		})
	}
	c.bracketed(req, "a page", func() spi.Millis {
		page := l.MustPage(spi.ScanRequest{Prefix: "k", Limit: 10})
		items := l.MustFinish("k", 10, page)
		c.t.Checkf(len(items) == 2, "L5.complete", "a scan shows %d of 2 live records", len(items))
		return page.StoreNow
	})
}

func relocationTimes(c *clocked) {
	const req = "R3.store-now"
	r := c.relocation
	// bracketed checks the expiry too.
	bracketed := func(what string, retention spi.Millis, f func() (now, expiresAt spi.Millis)) {
		var now, expiresAt spi.Millis
		b := c.t.BracketOn(c.client, func() { now, expiresAt = f() })
		low, high := b.Now()
		c.t.Between(req, "StoreNow of "+what, low, now, high)
		c.t.Expires("R3.expiry-clock", "expiresAt of "+what, b, spi.Retention(retention), expiresAt)
	}
	c.bracketed(req, "Missing", func() spi.Millis { return r.MustMiss("r").StoreNow })
	bracketed("Stored", hour/2, func() (now, expiresAt spi.Millis) {
		s := r.MustStore("r", []byte("v"), spi.Retention(hour/2))
		return s.StoreNow, s.ExpiresAt
	})
	c.bracketed(req, "AlreadyStored", func() spi.Millis {
		a, _ := r.MustPut("r", []byte("v"), spi.Retention(hour/2)).(spi.AlreadyStored)
		return a.StoreNow
	})
	c.bracketed(req, "Found", func() spi.Millis { return r.MustFind("r").StoreNow })
	bracketed("Renewed", 2*hour, func() (now, expiresAt spi.Millis) {
		n := r.MustRenew("r", spi.Retention(2*hour))
		return n.StoreNow, n.ExpiresAt
	})
	c.bracketed(req, "Found after Renew", func() spi.Millis {
		f := r.MustFind("r")
		c.t.Checkf(f.ExpiresAt > f.StoreNow+2*hour-hour/2, "R3.expiry-clock",
			"the renewed payload expires at %d, with StoreNow %d", f.ExpiresAt, f.StoreNow)
		return f.StoreNow
	})
}

func jumpLocation(t *harness.T) {
	c := openClock(t, &location, 0)
	l := c.location
	for _, key := range []spi.Key{"read", "missing", "version", "delete", "scan"} {
		l.MustPut(key, []byte("v"), spi.For(float64(hour)))
	}
	durable := l.MustPut("durable", []byte("v"), nil)
	later := l.MustPut("day", []byte("v"), spi.For(float64(2*day)))
	version := l.MustFind("version").Value.Version
	c.set(24 * time.Hour)
	c.bracketed("L3.store-now", "Missing after the jump",
		func() spi.Millis { return l.Citing("L3.expiry-clock").MustMiss("read").StoreNow })
	l.MustConflict(write(given(ifVersion("version", version)), put("version", "w")))
	l.MustApply(write(given(ifMissing("missing")), put("missing", "w")))
	l.MustDelete("delete")
	for key, want := range map[spi.Key]spi.Version{"durable": durable, "day": later} {
		if got := l.MustFind(key).Value.Version; got != want {
			t.Failf("L3.value-durable", "the version of %q is %q after the jump, expected %q", key, got, want)
		}
	}
	var seen []spi.Key
	for _, i := range l.MustScan("", 10) {
		seen = append(seen, i.Key)
	}
	for key, lives := range map[spi.Key]bool{"day": true, "durable": true, "missing": true, "read": false, "version": false,
		"delete": false, "scan": false} {
		switch shown := slices.Contains(seen, key); {
		case lives && !shown:
			t.Failf("L5.complete", "a scan after the jump lacks %q, which lives", key)
		case shown && !lives:
			t.Failf("L3.expiry-clock", "a scan after the jump shows %q, which has expired", key)
		}
	}
}

func jumpBack(t *harness.T) {
	c := openClock(t, &location, 0)
	l := c.location
	seen := map[spi.Version]bool{l.MustPut("k", []byte("first"), nil): true}
	for i, offset := range []time.Duration{-24 * time.Hour, 0, -time.Hour} {
		c.set(offset)
		value := []byte(fmt.Sprint("after ", i))
		now := c.bracketed("L3.store-now", "Applied after the jump", func() spi.Millis {
			a := l.MustApply(write(nil, put("k", string(value))))
			for _, p := range a.PutVersions {
				t.Checkf(!seen[p.Version], "L3.version-fresh", "version %q was issued again after a jump of the clock to %v",
					p.Version, offset)
				seen[p.Version] = true
			}
			return a.StoreNow
		})
		t.EqualBytes("L3.version-fresh", fmt.Sprintf("the value at StoreNow %d after a jump to %v", now, offset), value,
			l.MustFind("k").Value.Bytes)
	}
}

func jumpScan(t *harness.T) {
	c := openClock(t, &location, 0)
	l := c.location
	l.MustPut("p/durable", []byte("v"), nil)
	l.MustPut("p/hour", []byte("v"), spi.For(float64(hour)))
	l.MustPut("p/seconds", []byte("v"), spi.For(10_000))
	page := l.MustPage(spi.ScanRequest{Prefix: "p/", Limit: 1})
	items := page.Items
	c.set(30 * time.Second)
	old := page.Next
	for gone := false; page.Next != nil && !gone; {
		old = page.Next
		r, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: "p/", Cursor: page.Next, Limit: 1})
		if err != nil {
			t.Fatalf("L5.expired", "a page after a jump of 30 s failed: %v", err)
		}
		if _, gone = r.(spi.Expired); gone {
			items = nil
			break
		}
		next, _ := r.(spi.Page)
		page, items = next, append(items, next.Items...)
	}
	t.Checkf(items == nil || len(items) == 3, "L5.snapshot", "the snapshot of before the jump shows %d of 3 records", len(items))
	c.set(24 * time.Hour)
	if old != nil {
		_, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: "p/", Cursor: old, Limit: 1})
		t.Checkf(err == nil, "L5.expired", "a page after a jump of a day failed: %v", err)
	}
	c.bracketed("L3.store-now", "a page after the jump", func() spi.Millis {
		return l.MustPage(spi.ScanRequest{Prefix: "p/", Limit: 10}).StoreNow
	})
	fresh := l.MustScan("p/", 10)
	durable := slices.ContainsFunc(fresh, func(i spi.Item) bool { return i.Key == "p/durable" })
	t.Checkf(durable, "L5.complete", "a new scan after the jump lacks the durable record")
	t.Checkf(len(fresh) <= 1 || !durable, "L3.expiry-clock",
		"a new scan after the jump shows %d records, expected the durable one", len(fresh))
}

func jumpRelocation(t *harness.T) {
	c := openClock(t, &relocation, 0)
	r := c.relocation
	for _, ref := range []spi.Reference{"read", "renew", "put", "delete"} {
		r.MustStore(ref, []byte("v"), spi.Retention(hour))
	}
	r.MustStore("kept", []byte("v"), spi.Retention(2*day))
	c.set(24 * time.Hour)
	c.bracketed("R3.store-now", "Missing after the jump", func() spi.Millis { return r.MustMiss("read").StoreNow })
	renewed, err := r.Renew(t.Context(), "renew", spi.Retention(hour))
	if _, missing := renewed.(spi.Missing); err != nil || !missing {
		t.Failf("R4.renew", "Renew of an expired payload answered %s, %v", harness.Describe(renewed), err)
	}
	r.MustStore("put", []byte("other bytes"), spi.Retention(hour))
	r.MustDelete("delete")
	t.EqualBytes("R3.expiry-clock", "a payload that lives two days, after one", []byte("v"), r.MustFind("kept").Bytes)
}

// orphan follows the framework's habit: 24 h of retention, renewed when 12 h
// remain.
func orphan(t *harness.T) {
	c := openClock(t, &relocation, 0)
	r := c.relocation
	r.MustStore("orphan", []byte("v"), spi.Retention(day))
	r.MustStore("published", []byte("v"), spi.Retention(day))
	for i := 1; i <= 4; i++ {
		c.set(time.Duration(i) * 12 * time.Hour)
		f := r.MustFind("published")
		t.Checkf(f.ExpiresAt-f.StoreNow <= 12*hour, "R4.renew", "after 12 hours %d ms remain of 24 hours", f.ExpiresAt-f.StoreNow)
		var n spi.Renewed
		renewal := t.BracketOn(c.client, func() { n = r.MustRenew("published", spi.Retention(day)) })
		t.Expires("R4.renew", "the renewed expiry", renewal, spi.Retention(day), n.ExpiresAt)
		if i == 1 {
			t.EqualBytes("R6.published", "the payload that nobody renewed, after half its retention", []byte("v"),
				r.MustFind("orphan").Bytes)
		} else {
			r.MustMiss("orphan")
		}
	}
	c.set(73 * time.Hour)
	r.MustMiss("published")
}
