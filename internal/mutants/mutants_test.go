package mutants

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func catalogue(t *testing.T) *contract.Catalogue {
	t.Helper()
	c, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryEditApplies(t *testing.T) {
	for _, m := range All() {
		if err := m.check(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEditThatDoesNotApplyIsAnError(t *testing.T) {
	for want, e := range map[string]edit{
		"0 times":          onWrite("no such line", "x"),
		"times, want once": onWrite("local", "x"),
		"no script":        {old: "no such line"},
	} {
		err := script("m/m", "L4.put", "T.", e).check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", e, err, want)
		}
	}
}

func TestTheTablesAreWellFormed(t *testing.T) {
	slug := regexp.MustCompile(`^[a-z0-9-]+/[a-z0-9-]+$`)
	c, seen := catalogue(t), map[string]bool{}
	for _, m := range All() {
		if seen[m.ID] || !slug.MatchString(m.ID) {
			t.Errorf("the ID %q is used twice or is no slug", m.ID)
		}
		seen[m.ID] = true
		for _, id := range m.Requirements {
			if r, ok := c.Requirement(id); !ok || !r.Testable() {
				t.Errorf("%s breaks %q, which is no requirement that can be tested", m.ID, id)
			}
		}
		if len(m.Requirements) == 0 {
			t.Errorf("%s breaks nothing", m.ID)
		}
		if !strings.HasSuffix(m.Title, ".") || strings.Count(m.Title, "\n") > 0 {
			t.Errorf("%s: the title is no sentence: %q", m.ID, m.Title)
		}
		if (m.provider == nil) != (len(m.edits) > 0) {
			t.Errorf("%s is made neither by edits nor by a provider, or by both", m.ID)
		}
	}
	if len(seen) < 80 {
		t.Errorf("%d mutants, want at least 80", len(seen))
	}
}

func TestLawfulVariantsAreWellFormed(t *testing.T) {
	slug := regexp.MustCompile(`^lawful/[a-z0-9-]+$`)
	c, seen := catalogue(t), map[string]bool{}
	for _, v := range Lawful() {
		if seen[v.ID] || !slug.MatchString(v.ID) {
			t.Errorf("the ID %q is used twice or is no slug", v.ID)
		}
		seen[v.ID] = true
		if _, ok := c.Requirement(v.Allowed); !ok {
			t.Errorf("%s rests on %q, which is no requirement", v.ID, v.Allowed)
		}
		if !strings.HasSuffix(v.Title, ".") {
			t.Errorf("%s: the title is no sentence: %q", v.ID, v.Title)
		}
		if err := (Mutant{ID: v.ID, edits: v.edits}).check(); err != nil {
			t.Error(err)
		}
	}
}

// A case that blames a right provider fails the selftest, whatever the mutants
// say; here the provider is wrong, which comes to the same.
func TestAFalseAlarmFailsTheSelftest(t *testing.T) {
	deleteLeaves := onWrite("expires, not put}", "expires, false}")
	m := Run(context.Background(), Config{
		Env: redistest.Env(t), Cases: cases()[:2], Catalogue: catalogue(t), Parallel: 2,
		Mutants: []Mutant{script("m/killed", "L4.delete", "A Delete leaves an empty value.", deleteLeaves)},
		Variants: []Variant{
			variant("lawful/same", "L4.put", "Nothing.",
				onWrite("local sequence = KEYS[1]", "local sequence = KEYS[1] -- the same")),
			variant("lawful/blamed", "L4.put", "A Delete leaves an empty value.", deleteLeaves),
			variant("lawful/no-edit", "L4.put", "Nothing.", onWrite("no such line", "")),
		},
	})
	alarms := map[string][]string{}
	for _, v := range m.Variants {
		for _, k := range v.Alarms {
			alarms[v.ID] = append(alarms[v.ID], k.Case)
		}
	}
	if diff := cmp.Diff(map[string][]string{"lawful/blamed": {"t/delete"}, "lawful/no-edit": {""}}, alarms); diff != "" {
		t.Error(diff)
	}
	if m.ExitStatus() != result.ExitNonconform || m.FalseAlarms() != 2 || m.Variants[0].Tried != 2 {
		t.Errorf("exit status %d, %d false alarms, %d cases tried", m.ExitStatus(), m.FalseAlarms(), m.Variants[0].Tried)
	}
}

func TestEveryTestableRequirementHasAMutant(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range All() {
		for _, id := range m.Requirements {
			broken[id] = true
		}
	}
	for _, r := range catalogue(t).All() {
		if r.Testable() && !broken[r.ID] {
			t.Errorf("no mutant breaks %s", r.ID)
		}
	}
}

// cases are two small cases, and one that must not run on its own account.
func cases() []harness.Case {
	location := []harness.Need{harness.NeedLocation}
	return []harness.Case{
		{ID: "t/put", Title: "A Put is read.", Requirements: []string{"L4.put"}, Needs: location, Run: func(t *harness.T) {
			t.Location().MustApply(spi.WriteRequest{Mutations: []spi.Mutation{spi.Put{Key: "k", Bytes: []byte("v")}}})
			t.EqualBytes("L4.put", "the value", []byte("v"), t.Location().MustFind("k").Value.Bytes)
		}},
		{ID: "t/delete", Title: "A Delete removes.", Requirements: []string{"L4.delete"}, Needs: location,
			Run: func(t *harness.T) {
				t.Location().MustApply(spi.WriteRequest{Mutations: []spi.Mutation{spi.Put{Key: "k", Bytes: []byte("v")}}})
				t.Location().MustApply(spi.WriteRequest{Mutations: []spi.Mutation{spi.Delete{Key: "k"}}})
				t.Location().MustMiss("k")
			}},
		{ID: "t/nothing", Title: "Nothing is judged.", Requirements: []string{"L4.put"}, Run: func(*harness.T) {}},
		{ID: "t/skipped", Title: "Never runs.", Requirements: []string{"L8.key"}, Needs: []harness.Need{"no-such-capability"},
			Run: func(*harness.T) {}},
		{ID: "t/trouble", Title: "Ends in trouble.", Requirements: []string{"L8.first"},
			Run: func(t *harness.T) { t.Troublef("trouble") }},
		{ID: "t/large", Title: "Is large.", Requirements: []string{"L4.put"}, Large: true,
			Run: func(*harness.T) { panic("ran") }},
	}
}

func TestMatrix(t *testing.T) {
	deleteLeaves := onWrite("expires, not put}", "expires, false}")
	harmless := func() targets.Provider { return refprovider.New() }
	m := Run(context.Background(), Config{
		Env: redistest.Env(t), Cases: cases(), Catalogue: catalogue(t), Parallel: 3, Whole: true, Matrix: true,
		Mutants: []Mutant{
			script("m/killed", "L4.delete", "A Delete leaves an empty value.", deleteLeaves),
			script("m/by-other", "L4.put", "A Delete leaves an empty value.", deleteLeaves),
			script("m/unnamed", "L4.applied", "A Delete leaves an empty value.", deleteLeaves),
			{ID: "m/harmless", Requirements: []string{"L4.put"}, Title: "Nothing.", provider: harmless},
			{ID: "m/skipped", Requirements: []string{"L8.key"}, Title: "Nothing.", provider: harmless},
			{ID: "m/trouble", Requirements: []string{"L8.first"}, Title: "Nothing.", provider: harmless},
			script("m/no-edit", "L4.put", "Nothing.", onWrite("no such line", "")),
			script("m/also", "L4.put", "A Delete leaves an empty value.", deleteLeaves).also("t/del*"),
			script("m/second", "L4.put L4.delete", "A Delete leaves an empty value.", deleteLeaves),
			{ID: "m/half", Requirements: []string{"L4.delete", "L8.key"}, Title: "Nothing.", provider: harmless},
		},
	})
	type row struct {
		Fate result.Fate
		By   []string
	}
	got := map[string]row{}
	for _, r := range m.Mutants {
		var by []string
		for _, k := range r.KilledBy {
			by = append(by, k.Case)
		}
		got[r.ID] = row{r.Fate, by}
	}
	want := map[string]row{
		"m/killed":   {result.Killed, []string{"t/delete"}},
		"m/by-other": {result.KilledByOther, []string{"t/delete"}},
		"m/unnamed":  {result.KilledByOther, []string{"t/delete"}},
		"m/harmless": {result.Survived, nil},
		"m/skipped":  {result.NotTried, nil},
		"m/trouble":  {result.Broken, nil},
		"m/no-edit":  {result.Broken, nil},
		"m/also":     {result.Miscited, []string{"t/delete"}},
		"m/second":   {result.Killed, []string{"t/delete"}},
		"m/half":     {result.NotTried, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, r := range m.Mutants {
		for _, k := range r.KilledBy {
			if diff := cmp.Diff([]string{"L4.delete"}, k.Cites); diff != "" || r.Proves(k) != (r.Fate == result.Killed) {
				t.Errorf("%s: %+v proves: %t", r.ID, k, r.Proves(k))
			}
		}
	}
	// t/put and t/nothing passed every mutant, t/trouble found none; t/skipped
	// could not show anything.
	if diff := cmp.Diff([]string{"t/put", "t/nothing", "t/trouble"}, m.Idle); diff != "" {
		t.Error(diff)
	}
	if m.Interrupted != "" || m.ExitStatus() != result.ExitNonconform {
		t.Errorf("interrupted %q, exit status %d", m.Interrupted, m.ExitStatus())
	}
}

func TestAHarmlessMutantFailsTheSelftest(t *testing.T) {
	env := redistest.Env(t)
	run := func(m ...Mutant) result.Matrix {
		return Run(context.Background(), Config{Env: env, Cases: cases()[:2], Catalogue: catalogue(t), Mutants: m, Parallel: 2})
	}
	killed := script("m/killed", "L4.delete", "A Delete leaves an empty value.", onWrite("expires, not put}", "expires, false}"))
	if m := run(killed); m.ExitStatus() != result.ExitConforms || m.Cases != 1 {
		t.Errorf("one killed mutant: exit status %d, %d cases", m.ExitStatus(), m.Cases)
	}
	harmless := Mutant{ID: "m/harmless", Requirements: []string{"L4.put"}, Title: "Nothing.", provider: refprovider.New}
	if m := run(killed, harmless); m.ExitStatus() != result.ExitNonconform {
		t.Errorf("with a harmless mutant: exit status %d", m.ExitStatus())
	}
}

func TestARunThatEndsEarlyKeepsWhatIsFinished(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first := script("m/killed", "L4.delete", "A Delete leaves an empty value.", onWrite("expires, not put}", "expires, false}"))
	second := first
	second.ID = "m/never"
	m := Run(ctx, Config{
		Env: redistest.Env(t), Cases: cases()[:2], Catalogue: catalogue(t), Mutants: []Mutant{first, second}, Parallel: 1,
		Done: func(result.MutantRow) { cancel() },
	})
	if len(m.Mutants) != 1 || m.Interrupted == "" || m.ExitStatus() != result.ExitEnvironment {
		t.Errorf("%d mutants, interrupted %q, exit status %d", len(m.Mutants), m.Interrupted, m.ExitStatus())
	}
}
