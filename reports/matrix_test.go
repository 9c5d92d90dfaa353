package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

func sampleMatrix() result.Matrix {
	return result.Matrix{
		Tool: "1.2.3", Environment: result.Environment{Name: "local redis-server 7.0.15", Version: "7.0.15"}, Seed: 7,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 1500 * time.Millisecond, Cases: 5,
		Idle: []string{"s/idle"}, OffTopic: []string{"s/2"}, Defects: []result.Kill{{Case: "s/4", What: "the case broke: index"}},
		Mutants: []result.MutantRow{
			{ID: "a/killed", Requirements: []string{"L4.put"}, Title: "Wrong.", Fate: result.Killed, Tried: 5,
				KilledBy: []result.Kill{{Case: "s/1", What: "L4.put: x", Cites: []string{"L4.put"}}, {Case: "s/2"}, {Case: "s/3"}, {Case: "s/4"}, {Case: "s/5"}}},
			{ID: "a/alive", Requirements: []string{"L4.put"}, Title: "Wrong\x1b[31m too.", Fate: result.Survived, Reason: "it passed the cases of L4.put", Tried: 2},
			{ID: "a/others", Requirements: []string{"L4.put"}, Title: "Wrong as well.", Fate: result.KilledByOther, Reason: "no case names L4.put",
				KilledBy: []result.Kill{{Case: "s/1", What: "L4.delete: <b>&"}}},
			{ID: "a/skipped", Requirements: []string{"L4.put"}, Title: "Wrong again.", Fate: result.NotTried, Reason: "no libfaketime"},
		},
	}
}

func TestMatrixConsole(t *testing.T) {
	var b bytes.Buffer
	if err := Matrix(&b, sampleMatrix()); err != nil {
		t.Fatal(err)
	}
	want := `MUTANT     REQUIREMENT  FATE              BY
a/skipped  L4.put       not tried         
a/others   L4.put       killed by others  s/1
a/alive    L4.put       survived          
a/killed   L4.put       killed            s/1 s/2 s/3 and 2 more

SURVIVED: a/alive (L4.put) Wrong\x1b[31m too.
  it passed the cases of L4.put

KILLED BY OTHERS: a/others (L4.put) Wrong as well.
  no case names L4.put
  s/1: L4.delete: <b>&

NOT TRIED: a/skipped (L4.put) Wrong again.
  no libfaketime

CASES THAT FOUND NO MUTANT
  s/idle

CASES THAT NEVER FAILED UNDER THEIR OWN MAIN REQUIREMENT
  s/2

CASES THAT BROKE
  s/4: the case broke: index

HOLES  4 mutants: 1 killed, 1 survived, 1 killed by others, 1 not tried, 1 case without a mutant, 1 case off topic, 1 case broken
5 cases on local redis-server 7.0.15, seed 7, 1.5s
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestMatrixJudgementAgreesWithTheExitStatus(t *testing.T) {
	row := func(fates ...result.Fate) (rows []result.MutantRow) {
		for _, f := range fates {
			rows = append(rows, result.MutantRow{Fate: f})
		}
		return rows
	}
	for _, c := range []struct {
		matrix result.Matrix
		status int
		want   string
	}{
		{result.Matrix{Mutants: row(result.Killed)}, 0, "PROVEN  1 mutant: 1 killed"},
		{result.Matrix{Mutants: row(result.Killed, result.NotTried)}, 3, "INCOMPLETE  2 mutants: 1 killed, 1 not tried"},
		{result.Matrix{Mutants: row(result.Killed, result.NotTried, result.Survived)}, 1,
			"HOLES  3 mutants: 1 killed, 1 survived, 1 not tried"},
		{result.Matrix{Mutants: row(result.Miscited)}, 1, "HOLES  1 mutant: 1 miscited"},
		{result.Matrix{Mutants: row(result.Killed), OffTopic: []string{"c"}}, 1, "HOLES  1 mutant: 1 killed, 1 case off topic"},
		{result.Matrix{Mutants: row(result.Killed), Defects: []result.Kill{{Case: "c"}}}, 1,
			"HOLES  1 mutant: 1 killed, 1 case broken"},
		{result.Matrix{Mutants: row(result.Killed), Idle: []string{"c"}}, 1, "HOLES  1 mutant: 1 killed, 1 case without a mutant"},
		{result.Matrix{Mutants: row(result.Broken)}, 1, "HOLES  1 mutant: 1 error"},
		{result.Matrix{Mutants: row(result.KilledByOther)}, 1, "HOLES  1 mutant: 1 killed by others"},
		{result.Matrix{Mutants: row(result.NotTried)}, 3, "NOT JUDGED  1 mutant: 1 not tried"},
		{result.Matrix{Mutants: row(result.Killed), Interrupted: "Ctrl-C"}, 3, "NOT JUDGED  1 mutant: 1 killed (the run ended early: Ctrl-C)"},
		{result.Matrix{Mutants: row(result.Survived), Interrupted: "Ctrl-C"}, 1, "HOLES  1 mutant: 1 survived (the run ended early: Ctrl-C)"},
		{result.Matrix{Variants: []result.VariantRow{{ID: "lawful/v"}}}, 0, "PROVEN  1 lawful variant: 0 false alarms"},
		{result.Matrix{Mutants: row(result.Killed), Variants: []result.VariantRow{{Alarms: []result.Kill{{Case: "c"}}}}}, 1,
			"HOLES  1 mutant: 1 killed; 1 lawful variant: 1 false alarm"},
		{result.Matrix{Interrupted: "Ctrl-C"}, 3, "NOT JUDGED  no mutant (the run ended early: Ctrl-C)"},
	} {
		if got := MatrixJudgement(c.matrix); got != c.want || c.matrix.ExitStatus() != c.status {
			t.Errorf("%q, status %d; want %q, status %d", got, c.matrix.ExitStatus(), c.want, c.status)
		}
	}
}

func TestMatrixJSONReadsBack(t *testing.T) {
	var b bytes.Buffer
	if err := MatrixJSON(&b, sampleMatrix()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Judgement  string
		ExitStatus int
		Counts     map[string]int
		result.Matrix
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleMatrix(), got.Matrix); diff != "" {
		t.Error(diff)
	}
	if got.ExitStatus != 1 || got.Counts["killed by others"] != 1 || !strings.HasPrefix(got.Judgement, "HOLES") {
		t.Errorf("%+v", got)
	}
}

func TestMatrixHTMLEscapesAndLoadsNothing(t *testing.T) {
	var b bytes.Buffer
	if err := MatrixHTML(&b, sampleMatrix()); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"a/alive", "L4.delete: &lt;b&gt;&amp;", `Wrong\x1b[31m too.`, "s/idle", "killed-by-others", "HOLES", "s/5"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, no := range []string{"<b>", "src=", "href=", "\x1b"} {
		if strings.Contains(page, no) {
			t.Errorf("the page holds %q", no)
		}
	}
}
