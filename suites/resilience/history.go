package resilience

import (
	"fmt"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// agedRecordCases: what reads, conditions and new scans make of records while
// their history is kept, and after it was cleaned up.
func agedRecordCases() []harness.Case {
	const requirements = " L4.delete L4.missing L4.version L4.value L5.complete L5.snapshot L5.expired L5.limit"
	return []harness.Case{
		locationCase("cleanup/history-kept",
			"While a scan is open, deleted and expired records stay Missing to reads and conditions, and no "+
				"older value comes back.",
			"L3.expired-missing L4.put"+requirements, func(t *harness.T) { agedRecords(t, true) }),
		locationCase("cleanup/records",
			"Records that were put again after they were deleted or had expired outlive every clean-up, and new scans show them.",
			"L4.put L3.expired-missing"+requirements, func(t *harness.T) { agedRecords(t, false) }),
	}
}

// agedRecords ages records of every life, judges all of them at each age, and
// puts some again at each age, before what is due is cleaned up and after it.
func agedRecords(t *harness.T, scanned bool) {
	c := openClock(t, &location, 0)
	a := newAging(c, "aged", t.Target(), t.Target(), t.Another())
	if scanned {
		a.openAll(3)
	} else {
		a.lead()
	}
	ages := []time.Duration{lease + 200*time.Millisecond, lease + 2*time.Second, 66 * time.Second, 132 * time.Second,
		25 * time.Hour}
	for n, age := range ages {
		c.set(age)
		a.inspect(fmt.Sprintf("%v after the first", age))
		a.someAgain(n, 0)
		a.stir()
		a.inspect(fmt.Sprintf("%v after the first, cleaned up,", age))
		a.someAgain(n, 1)
		if scanned && n == 1 {
			a.finishAll("while records were judged")
		}
	}
	a.stir()
	a.inspect("at the end")
}

// lead leads every life three times, without an open scan.
func (a *aging) lead() {
	for round := range 3 {
		for _, life := range lives {
			do := []step{life.before, life.in, life.later}[round]
			for n := 1; n <= 3 && do != nil; n++ {
				for _, m := range do(a, spi.Key(fmt.Sprintf("p/%s-%d", life.slug, n))) {
					a.apply(m)
				}
			}
		}
	}
}

// someAgain lets records change: deleted ones are put again, for good or for a
// while, and some live ones deleted. Of each life there is one record that stays
// as it was, and one for either time.
func (a *aging) someAgain(round, time int) {
	now := a.t.NowOf(a.client)
	live, _ := a.lived(now, now)
	for n, name := range a.names {
		if !strings.HasSuffix(string(name), []string{"-2", "-3"}[time]) {
			continue
		}
		if _, ok := live[name]; ok && (n/3+round)%3 == 0 {
			a.apply(del(name))
		} else if !ok && (n/3+round)%2 == 0 {
			a.apply(a.put(name, lease))
		} else if !ok {
			a.apply(a.put(name, 0))
		}
	}
}

// inspect judges every record by a scan, reads and conditions. What expires at
// about that time is left out.
func (a *aging) inspect(when string) {
	before := a.t.NowOf(a.client)
	scan := a.next().MustScan("p/", 1000)
	reads := map[spi.Key]state{}
	for _, name := range a.names {
		reads[name] = stateOf(a.next().MustRead(name))
	}
	asked := map[spi.Key]map[string]string{}
	for _, name := range a.names {
		asked[name] = a.conditions(name)
	}
	live, either := a.lived(before, a.t.NowOf(a.client))
	a.judge("L5.complete", "a new scan, "+when, scan, live, either)
	wrong := map[string][]string{}
	for _, name := range a.names {
		if _, ok := either[name]; ok {
			continue
		}
		want, lives := live[name]
		rule := "L4.delete"
		if lives {
			rule = "L4.put"
		} else if _, leased := a.live[name]; leased {
			rule = "L3.expired-missing"
		}
		if got := reads[name]; got != want {
			wrong[rule] = append(wrong[rule], fmt.Sprintf("a read of %q says that %s, but %s", name, got, want))
		}
		for rule, what := range asked[name] {
			wrong[rule] = append(wrong[rule], fmt.Sprintf("%s, but of %q %s", what, name, want))
		}
	}
	for rule, what := range wrong {
		a.t.Failf(rule, "%s %s", when, firstOf(what))
	}
}

// conditions asks conditions of the record and says, by the requirement, which
// answer was wrong.
func (a *aging) conditions(name spi.Key) map[string]string {
	s, lives := a.live[name]
	lives = lives && (s.expiresAt == spi.NoExpiry || s.expiresAt > a.t.NowOf(a.client)+1)
	wrong := map[string]string{}
	ask := func(rule, what string, want bool, condition spi.Condition) {
		r := a.next().MustWrite(putIf("q/probe", "v", condition))
		if _, ok := r.(spi.Applied); ok != want {
			wrong[rule] = fmt.Sprintf("%s answered %s", what, harness.Describe(r))
		}
	}
	ask("L4.missing", "a Missing condition", !lives, ifMissing(name))
	past := a.past[name]
	for n := max(0, len(past)-2); n < len(past); n++ {
		now := lives && n == len(past)-1
		what := map[bool]string{true: "the current", false: "an earlier"}[now]
		ask("L4.version", "a condition on "+what+" version", now, ifVersion(name, past[n].version))
		if a.t.Target().Info().Has(targets.CapValueCondition) {
			ask("L4.value", "a condition on "+what+" value", now, ifValue(name, []byte(past[n].bytes)))
		}
	}
	return wrong
}
