package spicases

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Retentions of the cases, in milliseconds.
const (
	brief  = 60 // of what is to expire while the case waits
	minute = 60_000
	hour   = 60 * minute
	day    = 24 * hour
)

func expiryCases() []harness.Case {
	return []harness.Case{
		locationCase("expiry/durable", "A value put without retention has no expiry, on read and in a scan.",
			"L3.value-durable", neverExpires),
		locationCase("expiry/store-now", "Missing, Found, Applied, Conflict and Page carry the time of Redis's clock.",
			"L3.store-now L6.closed-results", storeNow),
		locationCase("expiry/expires-at", "expiresAt is the store time of the commit plus the retention, on read and in a scan.",
			"L3.expiry-clock L2.observation L5.complete", expiresAt),
		locationCase("expiry/read-does-not-extend", "Reading and scanning a value leave its expiry as it is.",
			"L3.expiry-clock L2.observation", readDoesNotExtend),
		locationCase("expiry/on-time", "A value is found before expiresAt and Missing from expiresAt on.",
			"L3.expired-missing L3.expiry-clock", expiresOnTime),
		locationCase("expiry/each-on-its-own", "Of a batch of three values, only the one of which the retention is over goes.",
			"L3.value-durable L3.expired-missing L5.complete", eachOnItsOwn),
		locationCase("expiry/frees-missing-condition", "A Missing condition holds for an expired key.",
			"L4.missing L3.expired-missing", expiryFreesMissing),
		locationCase("expiry/fails-version-condition",
			"A Version condition with the last version of an expired key is a Conflict.",
			"L4.version L3.expired-missing", expiryFailsVersion),
		locationCase("expiry/version-stays-retired",
			"A key that expired and is put again gets a new version, and its old one stays false.",
			"L3.version-fresh L4.version", expiryRetiresVersion),
		locationCase("expiry/delete-expired", "Deleting an expired key applies.",
			"L4.delete L4.applied", deleteExpired),
		locationCase("expiry/overwrite-durable", "A Put without retention makes a value durable that had one.",
			"L3.value-durable L4.put", overwriteDurable),
		locationCase("expiry/overwrite-extends", "A Put with a later expiry replaces the earlier one.",
			"L4.put L3.expiry-clock", overwriteExtends),
		locationCase("expiry/overwrite-shortens",
			"A Put with an earlier expiry replaces the later one, and one with retention a durable value.",
			"L4.put L3.expired-missing", overwriteShortens),
		locationCase("expiry/conflict-keeps", "A Conflict leaves the expiry of the keys of its mutations as it was.",
			"L4.all-or-nothing L3.expiry-clock", conflictKeepsExpiry),
	}
}

// putExpired puts a value and waits until it has expired.
func putExpired(t *harness.T, key spi.Key) spi.Version {
	version := t.Location().MustPut(key, []byte("short-lived"), spi.For(brief))
	awaitExpiry(t, t.Now()+brief)
	return version
}

func neverExpires(t *harness.T) {
	l := t.Location()
	l.MustPut("k", []byte("v"), nil)
	t.Equal("L3.value-durable", "expiresAt on read", spi.NoExpiry, l.MustFind("k").Value.ExpiresAt)
	for _, item := range l.MustScan("k", 10) {
		t.Equal("L3.value-durable", "expiresAt in a scan", spi.NoExpiry, item.Value.ExpiresAt)
	}
}

func storeNow(t *harness.T) {
	l := t.Location()
	create := write(given(ifMissing("k")), put("k", "v"))
	bracketed(t, "Missing", func() spi.Millis { return l.MustMiss("k").StoreNow })
	bracketed(t, "Applied", func() spi.Millis { return l.MustApply(create).StoreNow })
	bracketed(t, "Conflict", func() spi.Millis { return l.MustConflict(create).StoreNow })
	bracketed(t, "Found", func() spi.Millis { return l.MustFind("k").StoreNow })
	bracketed(t, "Page", func() spi.Millis { return l.MustPage(spi.ScanRequest{Limit: 10}).StoreNow })
}

func expiresAt(t *harness.T) {
	l := t.Location()
	want := map[spi.Key]spi.Millis{}
	for _, ms := range []float64{minute, minute + 1, hour, day, 365 * day} {
		key := spi.Key(fmt.Sprintf("k%.0f", ms))
		a := l.MustApply(write(nil, putFor(key, "v", ms)))
		want[key] = a.StoreNow + spi.Millis(ms)
		t.Equal("L3.expiry-clock", fmt.Sprintf("expiresAt of a value with %.0f ms", ms), want[key],
			l.MustFind(key).Value.ExpiresAt)
	}
	got := map[spi.Key]spi.Millis{}
	for _, item := range l.MustScan("k", 2) {
		got[item.Key] = item.Value.ExpiresAt
	}
	t.Equal("L5.complete", "the expiry of each scanned value", want, got)
}

func readDoesNotExtend(t *harness.T) {
	l := t.Location()
	l.MustPut("k", []byte("v"), spi.For(hour))
	first := l.MustFind("k").Value.ExpiresAt
	for range 3 {
		awaitExpiry(t, t.Now()+2)
		l.MustScan("", 10)
		t.Equal("L3.expiry-clock", "expiresAt of a value that was only read since", first, l.MustFind("k").Value.ExpiresAt)
	}
}

func expiresOnTime(t *harness.T) {
	l := t.Location()
	const retention = 120
	expires := l.MustApply(write(nil, putFor("k", "v", retention))).StoreNow + retention
	for {
		before := t.Now()
		switch r := l.MustRead("k").(type) {
		case spi.Missing:
			t.Checkf(r.StoreNow >= expires, "L3.expiry-clock", "the value is missing at %d, %d ms before its expiry", r.StoreNow,
				expires-r.StoreNow)
			return
		case spi.Found:
			if now := max(before, r.StoreNow); now >= expires {
				t.Fatalf("L3.expired-missing", "the value is found at %d, %d ms after its expiry", now, now-expires)
			}
		}
		t.Pause(2 * time.Millisecond)
	}
}

func eachOnItsOwn(t *harness.T) {
	l := t.Location()
	l.MustApply(write(nil,
		putFor("brief", "v", brief),
		put("durable", "v"),
		putFor("long", "v", hour),
	))
	awaitExpiry(t, t.Now()+brief)
	l.MustMiss("brief")
	t.EqualBytes("L3.value-durable", "the durable value", []byte("v"), l.MustFind("durable").Value.Bytes)
	t.EqualBytes("L3.expired-missing", "the value with an hour", []byte("v"),
		l.Citing("L3.expired-missing").MustFind("long").Value.Bytes)
	var keys []spi.Key
	for _, item := range l.MustScan("", 10) {
		keys = append(keys, item.Key)
	}
	t.Checkf(len(keys) == 2 && keys[0] != keys[1] && keys[0] != "brief" && keys[1] != "brief",
		"L5.complete", "a scan shows %q, expected the durable value and the one with an hour", keys)
}

func expiryFreesMissing(t *harness.T) {
	putExpired(t, "k")
	l := t.Location()
	l.MustApply(write(given(ifMissing("k")), put("k", "next")))
	f := l.MustFind("k")
	t.EqualBytes("L4.missing", "the value put under the Missing condition", []byte("next"), f.Value.Bytes)
	t.Equal("L4.missing", "its expiry", spi.NoExpiry, f.Value.ExpiresAt)
}

func expiryFailsVersion(t *harness.T) {
	version := putExpired(t, "k")
	l := t.Location()
	l.MustConflict(write(given(ifVersion("k", version)), put("k", "next"), put("other", "next")))
	l.MustMiss("k")
	l.MustMiss("other")
}

func expiryRetiresVersion(t *harness.T) {
	first := putExpired(t, "k")
	l := t.Location()
	second := l.MustPut("k", []byte("short-lived"), nil)
	t.Checkf(first != second, "L3.version-fresh", "version %q was issued again after the value had expired", first)
	l.MustConflict(write(given(ifVersion("k", first))))
	l.MustApply(write(given(ifVersion("k", second))))
}

func deleteExpired(t *harness.T) {
	putExpired(t, "k")
	l := t.Location()
	a := l.MustDelete("k")
	t.Checkf(len(a.PutVersions) == 0, "L4.applied", "deleting an expired key answered versions: %v", a.PutVersions)
	l.MustMiss("k")
}

func overwriteDurable(t *harness.T) {
	l := t.Location()
	l.MustPut("k", []byte("first"), spi.For(brief))
	l.MustPut("k", []byte("second"), nil)
	awaitExpiry(t, t.Now()+brief)
	f := l.MustFind("k")
	t.EqualBytes("L4.put", "the value", []byte("second"), f.Value.Bytes)
	t.Equal("L3.value-durable", "expiresAt after a Put without retention", spi.NoExpiry, f.Value.ExpiresAt)
}

func overwriteExtends(t *harness.T) {
	l := t.Location()
	l.MustPut("k", []byte("first"), spi.For(brief))
	a := l.MustApply(write(nil, putFor("k", "second", hour)))
	awaitExpiry(t, t.Now()+brief)
	f := l.MustFind("k")
	t.EqualBytes("L4.put", "the value", []byte("second"), f.Value.Bytes)
	t.Equal("L3.expiry-clock", "expiresAt of the second Put", a.StoreNow+hour, f.Value.ExpiresAt)
}

func overwriteShortens(t *harness.T) {
	l := t.Location()
	l.MustPut("long", []byte("first"), spi.For(hour))
	l.MustPut("durable", []byte("first"), nil)
	l.MustApply(write(nil,
		putFor("long", "second", brief),
		putFor("durable", "second", brief),
	))
	awaitExpiry(t, t.Now()+brief)
	l.Citing("L4.put").MustMiss("long")
	l.Citing("L4.put").MustMiss("durable")
}

func conflictKeepsExpiry(t *harness.T) {
	l := t.Location()
	l.MustPut("limited", []byte("v"), spi.For(hour))
	l.MustPut("durable", []byte("v"), nil)
	before := l.MustFind("limited").Value
	l.MustConflict(write(given(ifMissing("durable")),
		putFor("limited", "other", minute),
		putFor("durable", "other", minute),
	))
	t.Equal("L4.all-or-nothing", "the value after a Conflict", before, l.MustFind("limited").Value)
	t.Equal("L4.all-or-nothing", "expiresAt of the durable value after a Conflict", spi.NoExpiry,
		l.MustFind("durable").Value.ExpiresAt)
}
