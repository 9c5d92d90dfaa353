package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fatih/color"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// Style says how the console report looks.
type Style struct {
	Color   bool // with ANSI colours
	Verbose bool // nothing shortened
}

// Console writes the report that a person reads after a run. Its last line
// holds the judgement and the counts.
func Console(w io.Writer, run result.Run, style Style) error {
	p := newPrinter(w, style)
	p.printf("zlink-conformance %s\n", cleanLine(run.Tool))
	p.printf("Target: %s\n", targetLine(run.Target))
	p.printf("Redis: %s\n", environmentNames(run))
	p.printf("Seed %d, %d in parallel, %s\n", run.Seed, run.Parallel, run.Duration.Round(time.Millisecond))
	p.explain(run)
	p.skips(run)
	p.summary(run)
	if text := deselected(run); text != "" {
		p.printf("\n%s\n", text)
	}
	p.verdict(run)
	return p.err
}

// Line writes one line on a case that has ended.
func Line(w io.Writer, c result.Case, style Style) error {
	p := newPrinter(w, style)
	verdict := p.color(c.Verdict).Sprintf("%-15s", c.Verdict)
	p.printf("%s %s  %s\n", verdict, cleanLine(c.ID), p.dim.Sprint(c.Duration.Round(100*time.Microsecond)))
	return p.err
}

// printer keeps the first write error.
type printer struct {
	w     io.Writer
	style Style
	err   error

	bold, good, bad, warn, dim *color.Color
}

func newPrinter(w io.Writer, style Style) *printer {
	paint := func(a ...color.Attribute) *color.Color {
		c := color.New(a...)
		if style.Color {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return &printer{
		w: w, style: style,
		bold: paint(color.Bold), good: paint(color.FgGreen), bad: paint(color.FgRed),
		warn: paint(color.FgYellow), dim: paint(color.Faint),
	}
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) color(v result.Verdict) *color.Color {
	switch v {
	case result.Pass:
		return p.good
	case result.Fail, result.Flaky, result.Error:
		return p.bad
	case result.Skipped:
		return p.dim
	}
	return p.warn
}

// explain shows each case that did not pass; known failures in one line,
// because the reader put them on the list.
func (p *printer) explain(run result.Run) {
	max := short
	if p.style.Verbose {
		max = limits{}
	}
	seen := troubles{}
	for _, c := range run.Cases {
		if passed(c.Verdict) {
			continue
		}
		name := p.color(c.Verdict).Sprint(strings.ToUpper(string(c.Verdict)))
		p.printf("\n%s  %s: %s\n", name, p.bold.Sprint(label(run, c.ID, c.Environment)), cleanLine(c.Title))
		if c.Verdict == result.KnownFailure && !p.style.Verbose {
			p.printf("  %s\n", headline(c))
			continue
		}
		if other := seen.earlier(c, label(run, c.ID, c.Environment)); other != "" && !p.style.Verbose {
			p.printf("  the same trouble as %s: %s\n", other, headline(c))
			continue
		}
		for _, l := range details(c, max) {
			p.printf("  %s%s\n", strings.Repeat("  ", l.indent), p.paint(l))
		}
	}
}

func (p *printer) paint(l line) string {
	switch l.kind {
	case heading:
		return p.bold.Sprint(l.text)
	case removed:
		return p.good.Sprint(l.text)
	case added:
		return p.bad.Sprint(l.text)
	}
	return l.text
}

func (p *printer) skips(run result.Run) {
	const shown = 5
	groups := skipGroups(run)
	if len(groups) == 0 {
		return
	}
	p.printf("\n%s\n", p.bold.Sprint("Skipped, so not judged"))
	for _, g := range groups {
		ids, more := g.IDs, ""
		if len(ids) > shown && !p.style.Verbose {
			ids, more = ids[:shown], fmt.Sprintf(" and %d more", len(ids)-shown)
		}
		p.printf("  %s: %s\n", plural(len(g.IDs), "case"), g.Reason)
		p.printf("    %s\n", p.dim.Sprint(strings.Join(ids, ", ")+more))
	}
}

// summary is a table of suites by verdicts that occur.
func (p *printer) summary(run result.Run) {
	columns := occurring(run)
	groups := suites(run)
	width := len("Suite")
	for _, s := range groups {
		width = max(width, len([]rune(s.Name)))
	}
	p.printf("\n%s", p.bold.Sprintf("%-*s", width, "Suite"))
	for _, v := range columns {
		p.printf("  %s", p.bold.Sprintf("%*s", cell(v), v))
	}
	p.printf("  %s\n", p.bold.Sprintf("%9s", "time"))
	for _, s := range groups {
		n := result.Counts(s.Cases)
		p.printf("%-*s", width, s.Name)
		for _, v := range columns {
			paint := p.color(v)
			if n[v] == 0 {
				paint = p.dim
			}
			p.printf("  %s", paint.Sprintf("%*d", cell(v), n[v]))
		}
		p.printf("  %9s\n", seconds(s.duration())+" s")
	}
}

func cell(v result.Verdict) int { return max(len(v), 5) }

func (p *printer) verdict(run result.Run) {
	paint := p.bad
	switch run.ExitStatus() {
	case result.ExitConforms:
		paint = p.good
		if len(run.NotJudged()) > 0 {
			paint = p.warn
		}
	case result.ExitUsage:
		paint = p.warn
	}
	p.printf("\n%s  %s: %s\n", paint.Sprint(Judgement(run)), plural(len(run.Cases), "case"), countsLine(run.Cases))
}
