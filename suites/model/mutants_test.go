package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/mutants"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/model"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

// finds are mutants that were made for the other suites, and the case of this
// one that finds each. shrunk is the greatest number of operations to which it
// must shrink; 0: the case does not shrink. It cites what the mutant breaks, or
// what else notices that first.
var finds = []struct {
	mutant, id string
	shrunk     int
	orCites    string
}{
	{"batch/missing-ignores-deletion", "sequences/location", 8, ""},
	{"batch/last-condition-unchecked", "sequences/location", 8, "L4.version L4.missing"},
	{"batch/conflict-applies-half", "sequences/location", 6, "L4.missing L4.version L5.complete"},
	{"batch/put-keeps-the-expiry", "sequences/location", 8, "L5.complete L2.observation L3.expiry-clock"},
	{"batch/version-not-compared", "sequences/location", 6, ""},
	{"batch/version-of-absent", "sequences/location", 6, ""},
	{"batch/delete-of-absent", "sequences/location", 4, ""},
	{"version/from-content", "sequences/location", 8, ""},
	{"version/starts-over", "sequences/location", 5, ""},
	{"value/as-text", "sequences/location", 8, "L5.complete L2.observation"},
	{"key/lower-case", "sequences/location", 8, "L5.complete L4.missing L4.version L2.observation"},
	{"scan/several-round-trips", "sequences/snapshots", 8, ""},
	{"scan/new-keys-appear", "sequences/snapshots", 8, ""},
	{"scan/skips-between-pages", "sequences/snapshots", 6, ""},
	{"scan/equal-tombstones", "sequences/snapshots", 8, ""},
	{"scan/shows-the-present", "sequences/snapshots", 6, ""},
	{"scan/trimmed-by-writes", "sequences/snapshots", 6, ""},
	{"scan/expires-page-by-page", "sequences/clock", 8, ""},
	{"scan/shows-expired", "sequences/clock", 5, ""},
	{"batch/version-of-expired", "sequences/clock", 8, ""},
	{"batch/missing-ignores-expiry", "sequences/clock", 5, "L4.version"},
	{"blob/last-byte-not-compared", "sequences/relocation", 8, ""},
	{"blob/renew-never-shortens", "sequences/relocation", 8, "R4.read R4.put-keeps"},
	{"blob/put-overwrites", "sequences/relocation", 8, ""},
	{"blob/renew-does-nothing", "sequences/relocation", 4, "R4.read R4.put-keeps"},
	{"blob/lengths-not-compared", "sequences/relocation", 4, ""},
	{"blob/conflict-overwrites", "sequences/relocation", 5, ""},
	{"blob/put-re-arms", "sequences/relocation", 4, ""},
	{"interop/one-row-too-few", "sequences/shared-prefix", 8, ""},
	{"interop/recreates-from-nothing", "sequences/shared-prefix", 8, "L5.snapshot"},
	{"interop/index-of-its-own", "sequences/shared-prefix", 4, ""},
	{"interop/trims-under-others", "sequences/shared-prefix", 6, "L5.snapshot"},
	{"batch/check-then-act", "concurrency/registers", 0, "L4.version"},
	{"read/cached", "concurrency/registers", 0, "L4.version"},
	{"batch/in-two-halves", "concurrency/batches", 0, ""},
	{"scan/shows-the-present", "concurrency/batches", 0, "L4.isolation"},
	{"lost/write-is-retried", "concurrency/lost-replies", 0, ""},
	{"lost/write-is-conflict", "concurrency/lost-replies", 0, ""},
	{"key/pattern-characters", "metamorphic/renamed-keys", 0, ""},
	{"batch/conditions-alone-unchecked", "metamorphic/split-batches", 0, "L4.all-or-nothing"},
	{"read/last-put", "metamorphic/reordered", 0, "L4.missing"},
}

func TestFindsMutants(t *testing.T) {
	env := redistest.Env(t)
	cases := map[string]harness.Case{}
	for _, c := range model.Cases(model.Options{Operations: 20_000}) {
		cases[strings.TrimPrefix(c.ID, "model/")] = c
	}
	for _, f := range finds {
		t.Run(f.mutant+" by "+f.id, func(t *testing.T) {
			m := mutant(t, f.mutant)
			if cases[f.id].Run == nil {
				t.Fatalf("there is no case model/%s", f.id)
			}
			chosen := []harness.Case{cases[f.id]}
			// A sequence is what its seed makes it. Which reply is lost and who meets
			// whom is chance, so that a history of concurrent clients may show
			// nothing: another seed makes another one.
			c := suitetest.Run(t, env, m.Target(), chosen, 1).Cases[0]
			for tries := int64(1); c.Verdict == result.Pass && strings.HasPrefix(f.id, "concurrency/") && tries < 5; tries++ {
				c = suitetest.Run(t, env, m.Target(), chosen, 1+tries).Cases[0]
			}
			switch {
			case c.Verdict == result.Skipped:
				t.Skip(c.Reason)
			case c.Verdict != result.Fail:
				t.Fatalf("%s: %s %s, want a failure", m.Title, c.Verdict, c.Reason)
			}
			cited := c.Findings[0].Requirement
			if !slices.Contains(append(strings.Fields(f.orCites), m.Requirements...), cited) {
				t.Errorf("it cites %s, want one of %s %s\n%s", cited, m.Requirements, f.orCites, suitetest.Show(c))
			}
			if f.shrunk == 0 {
				return
			}
			text := replayable(t, c)
			script, err := model.ParseScript(text)
			if err != nil {
				t.Fatalf("the note is no script: %v\n%s", err, text)
			}
			t.Logf("%d operations:\n%s", len(script), text)
			if len(script) > f.shrunk {
				t.Errorf("shrunk to %d operations, want at most %d", len(script), f.shrunk)
			}
			replay := []harness.Case{model.Replay(script)}
			again := suitetest.Run(t, env, m.Target(), replay, 1).Cases[0]
			if again.Verdict != result.Fail || again.Findings[0].Requirement != cited {
				t.Errorf("replayed: %s %s, want a breach of %s\n%s", again.Verdict, again.Reason, cited, suitetest.Show(again))
			}
			suitetest.Passes(t, env, targets.InProcess(refprovider.New()), replay)
		})
	}
}

// replayable is the script in the case's notes, as a reader would copy it.
func replayable(t *testing.T, c result.Case) string {
	t.Helper()
	for _, note := range c.Evidence.Notes {
		if _, script, ok := strings.Cut(note, "--replay FILE\n"); ok {
			return script
		}
	}
	t.Fatalf("no note holds a script: %q", c.Evidence.Notes)
	return ""
}

func mutant(t *testing.T, id string) mutants.Mutant {
	t.Helper()
	all := mutants.All()
	i := slices.IndexFunc(all, func(m mutants.Mutant) bool { return m.ID == id })
	if i < 0 {
		t.Fatalf("there is no mutant %s", id)
	}
	return all[i]
}
