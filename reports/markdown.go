package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// Markdown writes a summary for the job page of a CI system.
func Markdown(w io.Writer, run result.Run) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## zlink-conformance: %s\n\n", inline(Judgement(run)))
	fmt.Fprintf(&b, "%s: %s.\n\n", plural(len(run.Cases), "case"), countsLine(run.Cases))
	if text := deselected(run); text != "" {
		b.WriteString(text + "\n\n")
	}
	fmt.Fprintf(&b, "- Target: %s\n- Redis: %s\n- Seed %d, %d in parallel, %s, version %s\n",
		inline(targetLine(run.Target)), inline(environmentNames(run)), run.Seed, run.Parallel,
		run.Duration.Round(time.Millisecond), inline(run.Tool))
	markdownSuites(&b, run)
	markdownCases(&b, run)
	if groups := skipGroups(run); len(groups) > 0 {
		b.WriteString("\n### Skipped, so not judged\n\n")
		for _, g := range groups {
			fmt.Fprintf(&b, "- %s: %s\n", plural(len(g.IDs), "case"), inline(g.Reason))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownSuites(b *strings.Builder, run result.Run) {
	columns := occurring(run)
	b.WriteString("\n| Suite |")
	for _, v := range columns {
		fmt.Fprintf(b, " %s |", v)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(columns)) + "\n")
	for _, s := range suites(run) {
		fmt.Fprintf(b, "| %s |", inline(s.Name))
		n := result.Counts(s.Cases)
		for _, v := range columns {
			fmt.Fprintf(b, " %d |", n[v])
		}
		b.WriteString("\n")
	}
}

// Bounds of the Markdown summary in bytes: some systems take no more than 64
// KiB of a comment. The numbers above the cases are always whole.
const (
	maxMarkdownCases = 44 << 10 // all cases that did not pass
	maxMarkdownCase  = 4 << 10
)

func markdownCases(b *strings.Builder, run result.Run) {
	seen := troubles{}
	start, left := b.Len(), 0
	for _, c := range run.Cases {
		if passed(c.Verdict) {
			continue
		}
		name := label(run, c.ID, c.Environment)
		text := markdownCase(c, name, seen.earlier(c, name))
		if b.Len()-start+len(text) > maxMarkdownCases {
			left++
			continue
		}
		if b.Len() == start {
			b.WriteString("\n### Cases that did not pass\n")
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(b, "\n%s that did not pass: see the other reports.\n", plural(left, "more case"))
	}
}

// markdownCase is a case's details; other names the case that shows the same
// trouble, if there is one.
func markdownCase(c result.Case, name, other string) string {
	if other != "" {
		return fmt.Sprintf("\n%s: %s: the same trouble as %s\n", c.Verdict, inline(name), inline(other))
	}
	text := detailText(c, limits{bytes: 300, lines: 10})
	if len(text) > maxMarkdownCase {
		at := strings.LastIndexByte(text[:maxMarkdownCase], '\n') + 1
		text = text[:at] + fmt.Sprintf("… (%s more, see the other reports)", plural(strings.Count(text[at:], "\n"), "line"))
		if c.Repeat != "" {
			text += "\nrepeat: " + cut(cleanLine(c.Repeat), 1000)
		}
	}
	return fmt.Sprintf("\n<details><summary>%s: %s</summary>\n\n%s\n\n%s\n</details>\n",
		c.Verdict, inline(name), inline(headline(c)), fenced(text))
}

// inline escapes text so that Markdown shows it as it is.
func inline(s string) string {
	var b strings.Builder
	for _, r := range cleanLine(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@': // no mentions of people
			b.WriteString("&#64;")
		case strings.ContainsRune("\\`*_[]|~#$", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fenced is a code block with a fence that the text itself does not hold.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
