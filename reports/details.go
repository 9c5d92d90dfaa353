package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/result"
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
	switch {
	case len(c.Findings) == 0:
	case c.Verdict == result.Error:
		// The trouble may have brought them about: no sentence is cited as broken.
		d.add(0, heading, "seen before or with the trouble, which is no verdict")
		for _, f := range c.Findings {
			d.add(1, plain, bullet+f.Requirement+": "+f.What)
		}
	default:
		d.findings(c.Findings)
	}
	d.list("last operations", c.Evidence.Operations)
	d.list("Redis state", c.Evidence.Redis)
	d.list("target stderr", c.Evidence.Log)
	d.list("notes", ownNotes(c.Evidence))
	if c.Repeat != "" {
		d.add(0, plain, "repeat: "+cleanLine(c.Repeat))
	}
	return d.lines
}

const bullet = "• "

// ownNotes are the notes without those that say what the log shows as well.
func ownNotes(e result.Evidence) []string {
	return slices.DeleteFunc(slices.Clone(e.Notes), func(note string) bool {
		logged, ok := strings.CutPrefix(note, "target log: ")
		return ok && slices.Contains(e.Log, logged)
	})
}

type detailer struct {
	max   limits
	lines []line
}

// findings cites each requirement once, with what was wrong below it.
func (d *detailer) findings(all []result.Finding) {
	more := 0
	var cited []string
	for _, first := range all {
		more += first.More
		if slices.Contains(cited, first.Requirement) {
			continue
		}
		cited = append(cited, first.Requirement)
		d.add(0, heading, fmt.Sprintf("%s (%s): %s", first.Requirement, first.Level, first.Sentence))
		d.add(1, plain, "source: "+first.Source)
		for _, f := range all {
			if f.Requirement == first.Requirement {
				d.finding(f)
			}
		}
	}
	if more > 0 {
		d.add(0, plain, "… and "+plural(more, "more finding"))
	}
}

func (d *detailer) finding(f result.Finding) {
	d.add(1, plain, bullet+f.What)
	if f.Diff == "" {
		return
	}
	d.add(2, heading, "diff (- expected, + got)")
	for text := range strings.SplitSeq(strings.TrimRight(f.Diff, "\n"), "\n") {
		k := plain
		switch {
		case strings.HasPrefix(text, "-"):
			k = removed
		case strings.HasPrefix(text, "+"):
			k = added
		}
		d.add(3, k, text)
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

// troubles finds errors that one event brought about, such as a death of the
// target, which hits all cases that are under way.
type troubles map[string]string // the case that was shown in full, by trouble

// earlier returns the name of the case that showed the same trouble, or "" for
// the first that shows it.
func (t troubles) earlier(c result.Case, name string) string {
	if c.Verdict != result.Error {
		return ""
	}
	// What differs between the cases is the operation that was under way.
	trouble, _, _ := strings.Cut(c.Reason, " before it answered ")
	if !slices.ContainsFunc(sharedTroubles, func(prefix string) bool { return strings.HasPrefix(trouble, prefix) }) {
		return ""
	}
	key := c.Environment + "\n" + trouble
	if _, seen := t[key]; !seen {
		t[key] = name
		return ""
	}
	return t[key]
}

// sharedTroubles begin the reasons of troubles that are not of one case alone.
var sharedTroubles = []string{"the target ended", "the target kept silent", "given up: ", "Redis "}
