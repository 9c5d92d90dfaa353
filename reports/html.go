package reports

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

//go:embed html.tmpl
var htmlSource string

var htmlTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"class":   func(v result.Verdict) string { return strings.ReplaceAll(string(v), " ", "-") },
	"round":   func(d time.Duration) string { return d.Round(time.Millisecond).String() },
	"line":    cleanLine,
	"details": func(c result.Case) []htmlLine { return htmlLines(details(c, limits{})) },
	"label":   label,
	"passed":  passed,
}).Parse(htmlSource))

// htmlLine is a line of details with the CSS class of its kind. A line that
// wraps goes on Hang characters from the left.
type htmlLine struct {
	Class, Text string
	Hang        int
}

func htmlLines(lines []line) []htmlLine {
	classes := map[kind]string{plain: "plain", heading: "heading", removed: "removed", added: "added"}
	out := make([]htmlLine, len(lines))
	for i, l := range lines {
		out[i] = htmlLine{classes[l.kind], l.String(), 2*l.indent + 2}
	}
	return out
}

// htmlRow is a suite's row of the table, with a number for each column.
type htmlRow struct {
	Name   string
	Counts []int
	Time   string
}

// HTML writes one self-contained page that can be filtered by verdict and
// text; it loads nothing from elsewhere. What did not pass comes first.
func HTML(w io.Writer, run result.Run) error {
	type count struct {
		Verdict result.Verdict
		N       int
		Shown   bool // at first; passes alone are hidden, unless there is nothing else
	}
	columns := occurring(run)
	n := result.Counts(run.Cases)
	var counts []count
	for _, v := range columns {
		counts = append(counts, count{v, n[v], v != result.Pass || len(columns) == 1})
	}
	var rows []htmlRow
	for _, s := range suites(run) {
		row := htmlRow{Name: s.Name, Time: seconds(s.duration()) + " s"}
		of := result.Counts(s.Cases)
		for _, v := range columns {
			row.Counts = append(row.Counts, of[v])
		}
		rows = append(rows, row)
	}
	cases := slices.Clone(run.Cases)
	slices.SortStableFunc(cases, func(a, b result.Case) int { return cmp.Compare(urgency(a.Verdict), urgency(b.Verdict)) })
	class := "no"
	if run.ExitStatus() == result.ExitConforms {
		class = "yes"
		if len(run.NotJudged()) > 0 {
			class = "part"
		}
	}
	return htmlTemplate.Execute(w, map[string]any{
		"Run": run, "Judgement": Judgement(run), "Counts": counts, "Class": class,
		"Target": targetLine(run.Target), "Redis": environmentNames(run), "Deselected": deselected(run),
		"Columns": columns, "Rows": rows, "Cases": cases,
	})
}

// urgency orders verdicts by how much they ask of a reader, the most first.
func urgency(v result.Verdict) int {
	return slices.Index([]result.Verdict{result.Fail, result.Flaky, result.Error, result.UnexpectedPass, result.Advisory,
		result.KnownFailure, result.Skipped, result.Pass}, v)
}
