// Package model searches for what tables of cases miss: random operations
// against a model of the contract, concurrent histories that must be
// linearizable, and changes that must not change an outcome.
package model

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
)

// Options says how much the suite does.
type Options struct {
	// Operations is how many a case of model/sequences performs on the target;
	// 0 is a small default.
	Operations int
}

// defaultOperations keep the whole suite at about a second.
const defaultOperations = 240

// perScript is the number of operations of one script: enough for histories to
// meet, few enough to shrink fast.
const perScript = 40

// shrinkRuns bounds how often a script is run again to shrink it.
const shrinkRuns = 400

// Cases returns all cases of the suite.
func Cases(o Options) []harness.Case {
	return slices.Concat(sequenceCases(o), concurrencyCases(), metamorphicCases())
}

var (
	locationNeeds   = []harness.Need{harness.NeedLocation}
	relocationNeeds = []harness.Need{harness.NeedRelocation}
	bothNeeds       = []harness.Need{harness.NeedLocation, harness.NeedRelocation}
	sharedNeeds     = []harness.Need{harness.NeedLayout, harness.NeedLocation, harness.NeedRelocation}
)

const (
	locationRequirements = "L2.observation L3.value-bytes L3.value-durable L3.version-form L3.version-fresh " +
		"L3.store-now L3.expiry-clock " +
		"L4.missing L4.version L4.put L4.delete L4.retention L4.all-or-nothing L4.applied L4.condition-only L6.closed-results"
	scanRequirements       = "L5.snapshot L5.complete L5.prefix L5.limit L5.cursor"
	relocationRequirements = "R4.put R4.put-compare R4.put-keeps R4.read R4.renew R4.delete R4.retention R3.payload-bytes " +
		"R3.store-now R3.expiry-clock R5.closed-results"
	expiryRequirements  = "L3.expired-missing"
	interopRequirements = "L9.interop-read L9.interop-scan L9.interop-snapshot L9.interop-sequence R8.interop-read"
)

// sequences is the table of the cases that play random scripts.
var sequences = []struct {
	slug, title  string
	requirements string
	needs        []harness.Need
	mode         mode
	clock        bool
	mix          mix
}{
	{"location", "Random batches, reads and scans of a Location Store answer as the contract's model does",
		locationRequirements + " " + scanRequirements, locationNeeds, lockstep, false,
		mix{write: 10, read: 6, scan: 2, next: 2, rest: 2, keys: fewKeys, retentions: lasting}},
	{"snapshots", "Random scans that stay open while records change show the store as of their first pages",
		scanRequirements + " " + locationRequirements, locationNeeds, lockstep, false,
		mix{write: 8, scan: 3, next: 2, rest: 2, keys: fewKeys, retentions: lasting}},
	{"relocation", "Random operations on a Relocation Store answer as the contract's model does",
		relocationRequirements, relocationNeeds, lockstep, false,
		mix{blobPut: 6, blobRead: 4, blobRenew: 2, blobDelete: 2, references: refs, retentions: hours}},
	{"both-stores", "Random operations on both stores under one key prefix answer as the contract's model does",
		locationRequirements + " " + relocationRequirements + " " + scanRequirements + " R8.apart", bothNeeds, lockstep, false,
		mix{write: 6, read: 4, scan: 1, next: 1, rest: 1, blobPut: 4, blobRead: 3, blobRenew: 1, blobDelete: 1,
			keys: fewKeys, references: refs, retentions: lasting}},
	{"clock", "Random operations answer as the contract's model does while the store's clock is moved on and values expire",
		expiryRequirements + " " + locationRequirements + " " + relocationRequirements + " " + scanRequirements, bothNeeds,
		lockstep, true,
		mix{write: 8, read: 4, scan: 3, next: 1, rest: 2, blobPut: 3, blobRead: 3, blobRenew: 1, blobDelete: 1, advance: 3,
			keys: fewKeys[:3], references: refs[:2], retentions: seconds}},
	{"shared-prefix", "Target and reference, in random turns on one key prefix, answer as one store of the contract's model does",
		interopRequirements + " " + locationRequirements + " " + scanRequirements + " " + relocationRequirements, sharedNeeds,
		shared, false,
		mix{write: 9, read: 6, scan: 2, next: 2, rest: 2, blobPut: 3, blobRead: 3, blobRenew: 1, blobDelete: 1,
			keys: fewKeys, references: refs, retentions: lasting, sharedPrefix: true}},
}

func sequenceCases(o Options) []harness.Case {
	n := o.Operations
	if n == 0 {
		n = defaultOperations
	}
	var cases []harness.Case
	for _, s := range sequences {
		cases = append(cases, harness.Case{
			ID: "model/sequences/" + s.slug, Title: s.title + ".", Requirements: strings.Fields(s.requirements), Broad: true,
			Needs:   s.needs,
			Timeout: timeout(o),
			Run: func(t *harness.T) {
				st := &stage{t: t}
				if s.clock {
					st.server = t.Server(redisenv.ServerOptions{Clock: true})
				}
				seed := t.Seed()
				for done := 0; done < n; done += perScript {
					script := s.mix.random(rand.New(rand.NewPCG(seed, uint64(done))), min(perScript, n-done))
					if f := st.play(script, s.mode); f != nil {
						st.report(script, s.mode, f)
					}
				}
			},
		})
	}
	return cases
}

// timeout gives a case with many operations its time, and one with the default
// the run's.
func timeout(o Options) time.Duration {
	if o.Operations == 0 {
		return 0
	}
	return time.Minute + time.Duration(o.Operations)*20*time.Millisecond
}

// Replay is the case that plays a script, as a failed case of model/sequences
// left it behind.
func Replay(s Script) harness.Case {
	location, relocation, reference, clock := s.uses()
	c := harness.Case{ID: "model/replay", Title: "The operations of the script answer as the contract's model does."}
	m := lockstep
	var requirements []string
	if location {
		c.Needs = append(c.Needs, harness.NeedLocation)
		requirements = append(requirements, locationRequirements, scanRequirements)
	}
	if relocation {
		c.Needs = append(c.Needs, harness.NeedRelocation)
		requirements = append(requirements, relocationRequirements)
	}
	if clock {
		requirements = append(requirements, expiryRequirements)
	}
	if reference {
		m = shared
		c.Needs = append(c.Needs, harness.NeedLayout)
		requirements = append(requirements, interopRequirements)
	}
	c.Requirements = strings.Fields(strings.Join(requirements, " "))
	c.Run = func(t *harness.T) {
		st := &stage{t: t}
		if clock {
			st.server = t.Server(redisenv.ServerOptions{Clock: true})
		}
		if f := st.play(s, m); f != nil {
			if m == shared {
				f = st.between(s, f)
			}
			t.Fatalf(f.requirement, "line %d, %s: %s", f.at+1, s[f.at], f.what)
		}
	}
	return c
}

// report shrinks a script that failed and ends the case with what is left.
func (s *stage) report(script Script, m mode, first *failure) {
	if m == lockstep {
		m = alone // the reference has passed
	}
	whole := script[:first.at+1]
	last, before := first, s.played
	small := shrink(whole, shrinkRuns, func(c Script) bool {
		f := s.play(c, m)
		if f == nil || f.requirement != first.requirement {
			return false
		}
		last = f
		return true
	})
	// Once more, so that the last operations of the evidence are the script's.
	note := fmt.Sprintf("shrunk from %d operations to %d in %d runs", len(whole), len(small), s.played-before)
	if len(small) == len(whole) {
		note = fmt.Sprintf("no shorter script than these operations breaks the contract (number of operations: %d)", len(small))
	}
	if again := s.play(small, m); again == nil {
		note += "; it does not break the contract every time, so the timing matters"
	} else if again.requirement == first.requirement {
		last = again
	}
	if m == shared {
		last = s.between(small, last)
	}
	text := fmt.Sprintf("# %s: %s\n%s", last.requirement, last.what, small)
	s.t.Artifact("script.txt", func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	s.t.Notef("%s; to repeat it, save the lines that follow in a file and run with --replay FILE\n%s", note,
		strings.TrimSuffix(text, "\n"))
	s.t.Fatalf(last.requirement, "%s, at the last of %d operations (the script is in the notes)", last.what, last.at+1)
}

// between cites the requirement on working side by side if the target alone
// does not fail.
func (s *stage) between(script Script, f *failure) *failure {
	if s.play(script, alone) != nil {
		return f
	}
	requirement := "L9.interop-read"
	switch {
	case strings.HasPrefix(f.requirement, "R"):
		requirement = "R8.interop-read"
	case f.requirement == "L5.snapshot":
		requirement = "L9.interop-snapshot"
	case strings.HasPrefix(f.requirement, "L5."):
		requirement = "L9.interop-scan"
	}
	return &failure{f.at, &breach{requirement, f.what}}
}
