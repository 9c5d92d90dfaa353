package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/result"
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
	b.WriteString("\n| Suite |")
	for _, v := range result.Verdicts() {
		fmt.Fprintf(b, " %s |", v)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(result.Verdicts())) + "\n")
	for _, s := range suites(run) {
		fmt.Fprintf(b, "| %s |", inline(s.Name))
		n := result.Counts(s.Cases)
		for _, v := range result.Verdicts() {
			fmt.Fprintf(b, " %d |", n[v])
		}
		b.WriteString("\n")
	}
}

func markdownCases(b *strings.Builder, run result.Run) {
	const most = 50 // CI systems refuse a summary of more than 1 MiB
	shown := 0
	for _, c := range run.Cases {
		if passed(c.Verdict) {
			continue
		}
		if shown == 0 {
			b.WriteString("\n### Cases that did not pass\n")
		}
		if shown++; shown > most {
			continue
		}
		fmt.Fprintf(b, "\n<details><summary>%s: %s</summary>\n\n%s\n\n%s\n</details>\n",
			c.Verdict, inline(label(run, c.ID, c.Environment)), inline(headline(c)), fenced(detailText(c, short)))
	}
	if shown > most {
		fmt.Fprintf(b, "\n%d more: see the other reports.\n", shown-most)
	}
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
