package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// versionCases: versions that are issued where and when nobody remembers the
// earlier ones.
func versionCases() []harness.Case {
	return []harness.Case{
		locationCase("versions/processes",
			"Processes of the target that begin one after the other, or work at once, never issue a version of a key twice.",
			"L3.version-fresh L4.put", versionsOfProcesses),
		locationCase("versions/cleaned-up",
			"A key that is put again after what was left of it was cleaned up gets new versions.",
			"L3.version-fresh L4.put L5.snapshot", versionsAfterCleanUp),
	}
}

// versionsOfProcesses has every process do the same from its start on, so that
// what it counts by itself begins again.
func versionsOfProcesses(t *harness.T) {
	const puts = 12
	first, second := t.Another(), t.Another()
	issued := map[spi.Version]int{}
	note := func(process int, v spi.Version) {
		if before, again := issued[v]; again {
			t.Failf("L3.version-fresh", "process %d issued version %.80q of a key, and process %d again", before, v, process)
		}
		issued[v] = process
	}
	for i, p := range []*harness.Provider{first, second, t.Target(), t.Another()} {
		l := p.OpenLocation(harness.Store{})
		for n := range puts {
			note(i+1, l.MustPut("k", []byte("same"), nil))
			if n%4 == 3 {
				l.MustDelete("k")
			}
		}
	}
	// At once, each from the start of an instance.
	stores := []*harness.Location{first.OpenLocation(harness.Store{}), second.OpenLocation(harness.Store{})}
	versions := make([][]spi.Version, len(stores))
	t.Concurrently(len(stores), func(i int) {
		for range 3 * puts {
			versions[i] = append(versions[i], stores[i].MustPut("k", []byte("same"), nil))
		}
	})
	for i, all := range versions {
		for _, v := range all {
			note(i+1, v)
		}
	}
}

// versionsAfterCleanUp puts, deletes or leases a record as often as before each
// time, after ages at which all that was left of it may be gone.
func versionsAfterCleanUp(t *harness.T) {
	c := openClock(t, &location, 0)
	a := newAging(c, "versions", t.Target(), t.Another())
	for _, age := range []time.Duration{0, 2 * time.Second, 70 * time.Second, 140 * time.Second, 25 * time.Hour, 50 * time.Hour} {
		c.set(age)
		for range 2 {
			a.stir()
		}
		for _, gone := range []struct {
			key spi.Key
			do  []spi.Mutation
		}{
			{"p/deleted", []spi.Mutation{a.put("p/deleted", 0), del("p/deleted")}},
			{"p/deleted-twice", []spi.Mutation{a.put("p/deleted-twice", 0),
				del("p/deleted-twice"), del("p/deleted-twice")}},
			{"p/leased", []spi.Mutation{a.put("p/leased", time.Second)}},
			{"p/overwritten", []spi.Mutation{a.put("p/overwritten", 0), a.put("p/overwritten", time.Second)}},
			{"p/lease-deleted", []spi.Mutation{a.put("p/lease-deleted", time.Second), del("p/lease-deleted")}},
		} {
			for _, m := range gone.do {
				a.apply(m)
			}
			a.fresh(gone.key, fmt.Sprintf("%v after the first", age))
		}
	}
}

// fresh checks that no version of a record was issued before.
func (a *aging) fresh(key spi.Key, when string) {
	seen := map[spi.Version]bool{}
	for _, s := range a.past[key] {
		if seen[s.version] {
			a.t.Failf("L3.version-fresh", "version %.80q of %q was issued again, %s", s.version, key, when)
			return
		}
		seen[s.version] = true
	}
}
