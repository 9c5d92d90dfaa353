package harness

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
)

// TestApart: a check that stops leaves the others their turn, but a skip or
// trouble ends the case.
func TestApart(t *testing.T) {
	var after []string
	three := func(id string, second func(*T)) Case {
		return Case{ID: "apart/" + id, Title: "T.", Requirements: []string{"L4.put"}, Run: func(t *T) {
			t.Apart(func() { t.Fatalf("L4.put", "the first") })
			t.Apart(func() { second(t) })
			if t.Apart(func() { t.Failf("L4.put", "the third") }) {
				after = append(after, id)
			}
		}}
	}
	run := Run(t.Context(), config(t, redistest.Env(t),
		three("findings", func(t *T) { t.Fatalf("L4.put", "the second") }),
		three("skip", func(t *T) { t.Skipf("no") }),
		three("trouble", func(t *T) { t.Troublef("trouble") })))
	want := map[string]int{"apart/findings": 3, "apart/skip": 1, "apart/trouble": 1}
	for _, c := range run.Cases {
		if len(c.Findings) != want[c.ID] {
			t.Errorf("%s: %s with %d findings, want %d", c.ID, c.Verdict, len(c.Findings), want[c.ID])
		}
	}
	if len(after) != 1 || after[0] != "findings" {
		t.Errorf("the third check ended in %v, want in findings alone", after)
	}
}
