package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// mostShown bounds the cases that the console shows of a mutant; the other
// reports have them all.
const mostShown = 3

// fates in the order in which summaries show them.
var fates = []result.Fate{result.Killed, result.Survived, result.Miscited, result.KilledByOther, result.Broken, result.NotTried}

// MatrixJudgement says in one line what the mutants proved. It agrees with
// Matrix.ExitStatus.
func MatrixJudgement(m result.Matrix) string {
	n := m.Fates()
	parts := []string{}
	for _, f := range fates {
		if n[f] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[f], f))
		}
	}
	if len(m.Idle) > 0 {
		parts = append(parts, plural(len(m.Idle), "case")+" without a mutant")
	}
	if len(m.OffTopic) > 0 {
		parts = append(parts, plural(len(m.OffTopic), "case")+" off topic")
	}
	if len(m.Defects) > 0 {
		parts = append(parts, plural(len(m.Defects), "case")+" broken")
	}
	counts := "no mutant"
	if len(m.Mutants) > 0 {
		counts = plural(len(m.Mutants), "mutant") + ": " + strings.Join(parts, ", ")
	}
	if len(m.Variants) > 0 {
		if len(m.Mutants) == 0 {
			counts = ""
		} else {
			counts += "; "
		}
		counts += fmt.Sprintf("%s: %s", plural(len(m.Variants), "lawful variant"), plural(m.FalseAlarms(), "false alarm"))
	}
	switch {
	case m.ExitStatus() == result.ExitNonconform:
		counts = "HOLES  " + counts
	case m.ExitStatus() == result.ExitConforms:
		counts = "PROVEN  " + counts
	case m.Interrupted == "" && n[result.Killed]+len(m.Variants) > 0:
		counts = "INCOMPLETE  " + counts
	default:
		counts = notJudged + "  " + counts
	}
	if m.Interrupted != "" {
		counts += " (" + endedEarly + cleanLine(m.Interrupted) + ")"
	}
	return counts
}

// MatrixLine writes the outcome of one mutant in one line.
func MatrixLine(w io.Writer, r result.MutantRow) error {
	_, err := fmt.Fprintf(w, "%-17s %s %s (%s, %v)\n", r.Fate, cleanLine(r.ID), breaks(r),
		plural(len(r.KilledBy), "case"), r.Duration.Round(time.Millisecond))
	return err
}

// VariantLine writes the outcome of one lawful variant in one line.
func VariantLine(w io.Writer, r result.VariantRow) error {
	_, err := fmt.Fprintf(w, "%-17s %s %s (%s, %v)\n", verdictOn(r), cleanLine(r.ID), r.Allowed,
		plural(r.Tried, "case"), r.Duration.Round(time.Millisecond))
	return err
}

// verdictOn says whether a lawful variant was blamed.
func verdictOn(r result.VariantRow) string {
	if len(r.Alarms) > 0 {
		return "false alarm"
	}
	return "passed"
}

// Matrix writes the kill matrix as a table: each mutant, and first of all
// those that did not end as they must.
func Matrix(w io.Writer, m result.Matrix) error {
	rows := slices.Clone(m.Mutants)
	slices.SortStableFunc(rows, func(a, b result.MutantRow) int { return order(b) - order(a) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MUTANT\tREQUIREMENT\tFATE\tBY")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", cleanLine(r.ID), breaks(r), r.Fate, caseIDs(r.KilledBy))
	}
	for _, v := range m.Variants {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", cleanLine(v.ID), v.Allowed, verdictOn(v), caseIDs(v.Alarms))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, v := range m.Variants {
		if len(v.Alarms) > 0 {
			fmt.Fprintf(&b, "\nFALSE ALARM: %s (%s) %s\n", cleanLine(v.ID), v.Allowed, cleanLine(v.Title))
			for _, k := range v.Alarms {
				fmt.Fprintf(&b, "  %s: %s\n", k.Case, cut(cleanLine(k.What), 300))
			}
		}
	}
	for _, r := range m.Mutants {
		if !r.Expected() || r.Reason != "" {
			fmt.Fprintf(&b, "\n%s: %s (%s) %s\n", strings.ToUpper(string(r.Fate)), cleanLine(r.ID), breaks(r), cleanLine(r.Title))
			if r.Reason != "" {
				fmt.Fprintf(&b, "  %s\n", cut(cleanLine(r.Reason), 300))
			}
			for i, k := range slices.Concat(r.KilledBy, r.Errors) {
				if i == mostShown {
					fmt.Fprintf(&b, "  and %d more\n", len(r.KilledBy)+len(r.Errors)-mostShown)
					break
				}
				fmt.Fprintf(&b, "  %s: %s\n", k.Case, cut(cleanLine(k.What), 300))
			}
		}
	}
	for _, l := range caseLists(m) {
		fmt.Fprintf(&b, "\n%s\n", strings.ToUpper(l.Title))
		for _, line := range l.Lines {
			fmt.Fprintf(&b, "  %s\n", cut(cleanLine(line), 300))
		}
	}
	fmt.Fprintf(&b, "\n%s\n%s on %s, seed %d, %v\n", MatrixJudgement(m), plural(m.Cases, "case"),
		cleanLine(m.Environment.Name), m.Seed, m.Duration.Round(100*time.Millisecond))
	_, err := io.WriteString(w, b.String())
	return err
}

func breaks(r result.MutantRow) string { return strings.Join(r.Requirements, " ") }

// caseList is a list of cases that are of no use as they are.
type caseList struct {
	Title string
	Lines []string
}

func caseLists(m result.Matrix) []caseList {
	broken := caseList{Title: "Cases that broke"}
	for _, k := range m.Defects {
		broken.Lines = append(broken.Lines, k.Case+": "+k.What)
	}
	all := []caseList{
		{"Cases that found no mutant", m.Idle},
		{"Cases that never failed under their own main requirement", m.OffTopic},
		broken,
	}
	return slices.DeleteFunc(all, func(l caseList) bool { return len(l.Lines) == 0 })
}

// order puts what is killed last.
func order(r result.MutantRow) int { return slices.Index(fates, r.Fate) }

// caseIDs are the cases that said something, cut to a few.
func caseIDs(kills []result.Kill) string {
	var ids []string
	for _, k := range kills {
		if len(ids) == mostShown {
			ids = append(ids, fmt.Sprintf("and %d more", len(kills)-mostShown))
			break
		}
		ids = append(ids, k.Case)
	}
	return strings.Join(ids, " ")
}

// matrixDocument is the JSON report: the matrix and what it amounts to.
type matrixDocument struct {
	Judgement  string              `json:"judgement"`
	ExitStatus int                 `json:"exitStatus"`
	Counts     map[result.Fate]int `json:"counts"`
	result.Matrix
}

// MatrixJSON writes the whole matrix with its judgement and exit status.
func MatrixJSON(w io.Writer, m result.Matrix) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(matrixDocument{MatrixJudgement(m), m.ExitStatus(), m.Fates(), m})
}
