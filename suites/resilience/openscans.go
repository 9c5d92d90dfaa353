package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// step makes the mutations of one moment of a record's life, one after the
// other; nil if nothing happens to it.
type step func(a *aging, key spi.Key) []spi.Mutation

func stepPut(a *aging, k spi.Key) []spi.Mutation    { return []spi.Mutation{a.put(k, 0)} }
func stepLease(a *aging, k spi.Key) []spi.Mutation  { return []spi.Mutation{a.put(k, lease)} }
func stepDelete(_ *aging, k spi.Key) []spi.Mutation { return []spi.Mutation{del(k)} }
func stepAgain(a *aging, k spi.Key) []spi.Mutation {
	return []spi.Mutation{del(k), a.put(k, 0)}
}
func stepGone(a *aging, k spi.Key) []spi.Mutation {
	return []spi.Mutation{a.put(k, 0), del(k)}
}

// lives are what can happen to a record: before all scans, after the first page
// of one of them, and after those that are opened later.
var lives = []struct {
	slug              string
	before, in, later step
}{
	{"kept", stepPut, nil, nil},
	{"overwritten", stepPut, stepPut, nil},
	{"overwritten-always", stepPut, stepPut, stepPut},
	{"deleted", stepPut, stepDelete, nil},
	{"deleted-always", stepPut, stepDelete, stepDelete},
	{"again", stepPut, stepAgain, nil},
	{"again-later", stepPut, stepDelete, stepPut},
	{"new", nil, stepPut, nil},
	{"new-and-deleted", nil, stepPut, stepDelete},
	{"reborn", stepGone, stepPut, nil},
	{"gone", stepGone, nil, nil},
	{"leased", stepLease, nil, nil},
	{"lease-ended", stepLease, stepPut, nil},
	{"lease-deleted", stepLease, stepDelete, nil},
	{"lease-begun", stepPut, stepLease, nil},
}

// scansAtOnce is how many open scans a provider keeps at least (L5.snapshot).
const scansAtOnce = 4

// openAll opens scans, each by the next client, and lets the records live
// between their first pages. Each life is led once around each of the scans.
func (a *aging) openAll(scans int) {
	for round := range scans + 1 {
		if round > 0 {
			a.open(a.clients[(round-1)%len(a.clients)], round)
		}
		var steps [2][]spi.Mutation
		for _, life := range lives {
			for in := 1; in <= scans; in++ {
				do := map[bool]step{round == 0: life.before, round == in: life.in, round > in: life.later}[true]
				if do == nil {
					continue
				}
				for n, m := range do(a, spi.Key(fmt.Sprintf("p/%s-%d", life.slug, in))) {
					steps[n] = append(steps[n], m)
				}
			}
		}
		for _, mutations := range steps {
			if len(mutations) == 0 {
				continue
			}
			if round%2 == 0 { // in one batch or one by one
				a.apply(mutations...)
				continue
			}
			for _, m := range mutations {
				a.apply(m)
			}
		}
	}
}

// openScanCases: what clean-up that comes due while scans are open leaves of
// their snapshots.
func openScanCases() []harness.Case {
	var cases []harness.Case
	for _, age := range []time.Duration{0, 1200 * time.Millisecond, 2 * time.Second, lease + 100*time.Millisecond,
		8 * time.Second,
		26 * time.Second, 58 * time.Second, 66 * time.Second, time.Hour} {
		kept := "show each its own snapshot"
		if spi.Millis(age.Milliseconds()) >= keptFor {
			kept += " or are Expired"
		}
		cases = append(cases, locationCase(fmt.Sprintf("cleanup/open-scans-%v", age),
			fmt.Sprintf("%v after they were opened, and whatever was cleaned up since, four scans %s.", age, kept),
			"L5.snapshot L5.expired L5.limit L4.put", func(t *harness.T) { openScans(t, age) }))
	}
	return append(cases, locationCase("cleanup/open-scans-beside-reference",
		"Four scans of the target and the reference show each its own snapshot, whichever of the two "+
			"cleans up two seconds later.",
		"L9.interop-snapshot L5.expired L5.limit L4.put", scansBesideReference, harness.NeedLayout))
}

// Every page shows the store as of the first page, whoever writes meanwhile and
// whatever the provider tidies up.
func openScans(t *harness.T, age time.Duration) {
	c := openClock(t, &location, 0)
	process := t.Another()
	worlds := []*aging{newAging(c, "alone", t.Target()), newAging(c, "shared", t.Target(), t.Target(), process)}
	for _, a := range worlds {
		a.openAll(scansAtOnce)
	}
	c.set(age)
	for _, a := range worlds {
		a.stir()
		// What a second round supersedes is cleaned up in its turn.
		for n, name := range a.names {
			if n%3 == 0 {
				a.apply(a.put(name, 0))
			}
		}
		a.stir()
	}
	for i, a := range worlds {
		what := []string{"of one instance", "of three instances, one of them in another process"}[i]
		a.finishAll(fmt.Sprintf("%v after they were opened by clients %s", age, what))
	}
}

func scansBesideReference(t *harness.T) {
	c := openClock(t, &location, 0)
	a := newAging(c, "beside", t.Target(), t.Reference())
	a.rule = "L9.interop-snapshot"
	a.openAll(scansAtOnce)
	c.set(2 * time.Second)
	a.stir()
	a.finishAll("two seconds after they were opened by the target and the reference in turn")
}
