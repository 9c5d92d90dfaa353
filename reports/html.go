package reports

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/result"
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

// htmlLine is a line of details with the CSS class of its kind.
type htmlLine struct{ Class, Text string }

func htmlLines(lines []line) []htmlLine {
	classes := map[kind]string{plain: "plain", heading: "heading", removed: "removed", added: "added"}
	out := make([]htmlLine, len(lines))
	for i, l := range lines {
		out[i] = htmlLine{classes[l.kind], l.String()}
	}
	return out
}

// HTML writes one self-contained page that can be filtered by verdict and
// text; it loads nothing from elsewhere.
func HTML(w io.Writer, run result.Run) error {
	type count struct {
		Verdict result.Verdict
		N       int
	}
	n := result.Counts(run.Cases)
	var counts []count
	for _, v := range result.Verdicts() {
		if n[v] > 0 {
			counts = append(counts, count{v, n[v]})
		}
	}
	return htmlTemplate.Execute(w, map[string]any{
		"Run": run, "Judgement": Judgement(run), "Counts": counts, "Conforms": run.ExitStatus() == result.ExitConforms,
		"Target": targetLine(run.Target), "Redis": environmentNames(run), "Deselected": deselected(run),
	})
}
