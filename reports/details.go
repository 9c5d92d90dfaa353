package reports

import (
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/result"
)

// kind of a line of a case's details, for its colour.
type kind int

const (
	plain   kind = iota
	heading      // names what follows
	removed      // a diff line that was expected
	added        // a diff line that came instead
)

// line is one clean line of a case's details.
type line struct {
	indent int
	kind   kind
	text   string
}

func (l line) String() string { return strings.Repeat("  ", l.indent) + l.text }

// limits bound a case's details: bytes a line, lines a list. 0 is no bound.
type limits struct{ bytes, lines int }

// short is what a person can read at a glance.
var short = limits{bytes: 500, lines: 25}

// details explains a case that did not pass: the sentences of the contract,
// what was wrong, the evidence and the command that repeats it.
func details(c result.Case, max limits) []line {
	d := detailer{max: max}
	if c.Reason != "" {
		d.add(0, plain, "reason: "+c.Reason)
	}
	for _, f := range c.Findings {
		d.finding(f)
	}
	d.list("last operations", c.Evidence.Operations)
	d.list("Redis state", c.Evidence.Redis)
	d.list("target stderr", c.Evidence.Log)
	d.list("notes", c.Evidence.Notes)
	if c.Repeat != "" {
		d.add(0, plain, "repeat: "+cleanLine(c.Repeat))
	}
	return d.lines
}

type detailer struct {
	max   limits
	lines []line
}

func (d *detailer) finding(f result.Finding) {
	d.add(0, heading, fmt.Sprintf("%s (%s): %s", f.Requirement, f.Level, f.Sentence))
	d.add(1, plain, "source: "+f.Source)
	d.add(1, plain, f.What)
	if f.Diff == "" {
		return
	}
	d.add(1, heading, "diff (- expected, + got)")
	for text := range strings.SplitSeq(strings.TrimRight(f.Diff, "\n"), "\n") {
		k := plain
		switch {
		case strings.HasPrefix(text, "-"):
			k = removed
		case strings.HasPrefix(text, "+"):
			k = added
		}
		d.add(2, k, text)
	}
}

func (d *detailer) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	d.add(0, heading, title)
	if d.max.lines > 0 && len(lines) > d.max.lines {
		gone := len(lines) - d.max.lines
		d.add(1, plain, fmt.Sprintf("(%s more before these, see the other reports)", plural(gone, "line")))
		lines = lines[gone:]
	}
	for _, l := range lines {
		d.add(1, plain, l)
	}
}

// add indents the lines after a text's first one further: a target's text
// can't pose as a line of the report itself.
func (d *detailer) add(indent int, k kind, text string) {
	for i, part := range strings.Split(clean(text), "\n") {
		if d.max.bytes > 0 {
			part = cut(part, d.max.bytes)
		}
		d.lines = append(d.lines, line{indent + min(i, 1), k, part})
	}
}

// detailText is details as one text.
func detailText(c result.Case, max limits) string {
	var b strings.Builder
	for _, l := range details(c, max) {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}
