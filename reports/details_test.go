package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// A requirement is cited once, however many findings break it, and what the
// harness dropped is counted.
func TestFindingsAreGrouped(t *testing.T) {
	finding := func(id, what string) result.Finding {
		return result.Finding{Requirement: id, Level: "MUST", Sentence: "Sentence of " + id + ".", Source: "Source of " + id, What: what}
	}
	run := only(result.Fail)
	run.Cases[0].Reason = ""
	run.Cases[0].Findings = []result.Finding{finding("L1", "one"), finding("L2", "two"), finding("L1", "three")}
	run.Cases[0].Findings[2].More = 5
	want := `L1 (MUST): Sentence of L1.
  source: Source of L1
  • one
  • three
L2 (MUST): Sentence of L2.
  source: Source of L2
  • two
… and 5 more findings
`
	if got := detailText(run.Cases[0], limits{}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Trouble is no verdict: no sentence of the contract is shown as broken. What
// the target logged is shown once.
func TestTroubleCitesNoSentence(t *testing.T) {
	c := result.Case{ID: "a/b", Verdict: result.Error, Reason: "the target ended (exit status 7)",
		Findings: []result.Finding{{Requirement: "L1", Level: "MUST", Sentence: "Always.", Source: "Somewhere", What: "not here"}},
		Evidence: result.Evidence{Log: []string{"boom", "bang"}, Notes: []string{"target log: older", "target log: boom", "a note"}},
	}
	want := `reason: the target ended (exit status 7)
seen before or with the trouble, which is no verdict
  • L1: not here
target stderr
  boom
  bang
notes
  target log: older
  a note
`
	if got := detailText(c, limits{}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// One death of the target that hits several cases is explained once.
func TestSharedTroubleIsShownOnce(t *testing.T) {
	run := only(result.Error, result.Error, result.Error, result.Error)
	for i := range run.Cases {
		c := &run.Cases[i]
		c.ID = fmt.Sprintf("a/%d", i+1)
		c.Reason = fmt.Sprintf("the target ended (signal: killed) before it answered op%d", i+1)
		c.Evidence.Log = []string{"boom"}
	}
	run.Cases[2].Reason = "the target ended (exit status 7) before it answered op3"
	run.Cases[3].Reason = "no end within 1s (--timeout)"
	for name, got := range map[string]string{"console": text(t, console(Style{}), run), "markdown": text(t, Markdown, run)} {
		if n := strings.Count(got, "boom"); n != 3 {
			t.Errorf("%s: the log is shown %d times, want 3:\n%s", name, n, got)
		}
		if !strings.Contains(got, "the same trouble as a/1") {
			t.Errorf("%s does not say which trouble:\n%s", name, got)
		}
	}
	if n := strings.Count(text(t, console(Style{Verbose: true}), run), "boom"); n != 4 {
		t.Errorf("verbose: the log is shown %d times, want 4", n)
	}
}

// The summary stays below what CI systems take, shows each case shortened, and
// only verdicts that occur.
func TestMarkdownIsBounded(t *testing.T) {
	var verdicts []result.Verdict
	for range 500 {
		verdicts = append(verdicts, result.Fail)
	}
	run := only(verdicts...)
	for i := range run.Cases {
		c := &run.Cases[i]
		c.Repeat = "zlink-conformance run --run a/b"
		for range 40 {
			c.Evidence.Log = append(c.Evidence.Log, strings.Repeat("x", 1000))
			c.Evidence.Operations = append(c.Evidence.Operations, strings.Repeat("y", 1000))
		}
	}
	got := text(t, Markdown, run)
	if len(got) > 60<<10 {
		t.Errorf("%d bytes", len(got))
	}
	for _, want := range []string{"| Suite | fail |\n", "more cases that did not pass: see the other reports", "repeat: zlink-conformance run"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q", want)
		}
	}
	if n := strings.Count(got, "<details>"); n < 5 || n != strings.Count(got, "</details>") {
		t.Errorf("%d cases are shown", n)
	}
}
