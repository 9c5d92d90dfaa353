// Package reports writes a finished run for people and machines: console,
// JUnit, JSON, Markdown and HTML. Every report is a pure function of
// result.Run. Text that came from a target is never trusted: control
// characters are made visible, and each format escapes for itself.
package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// Words of the final line.
const (
	conforms    = "CONFORMS"
	partial     = "PARTIAL"
	nonconform  = "DOES NOT CONFORM"
	notJudged   = "NOT JUDGED"
	endedEarly  = "the run ended early: "
	staleKnowns = "the known-failures list is out of date: "
)

// Judgement says in one line what the run proved, e.g. "CONFORMS",
// "PARTIAL: CONFORMS, but not judged: layout (80 cases)" or "NOT JUDGED: every
// case was skipped". It agrees with Run.ExitStatus.
func Judgement(run result.Run) string {
	n := result.Counts(run.Cases)
	switch run.ExitStatus() {
	case result.ExitConforms:
		text := conforms
		if k := n[result.KnownFailure]; k > 0 {
			text = fmt.Sprintf("%s EXCEPT FOR %s", conforms, strings.ToUpper(plural(k, "known failure")))
		}
		if gaps := notJudgedParts(run); gaps != "" {
			return partial + ": " + text + ", but not judged: " + gaps
		}
		return text
	case result.ExitNonconform:
		var and []string
		if unmet := run.Unmet(); len(unmet) > 0 {
			and = append(and, unmetLine(unmet))
		}
		if run.Interrupted != "" {
			and = append(and, "and "+endedEarly+cleanLine(run.Interrupted))
		} else if gaps := notJudgedParts(run); gaps != "" {
			and = append(and, partial+", not judged: "+gaps)
		}
		if len(and) > 0 {
			return nonconform + " (" + strings.Join(and, "; ") + ")"
		}
		return nonconform
	case result.ExitUsage:
		return fmt.Sprintf("%s: %s%s listed there passed", notJudged, staleKnowns, plural(n[result.UnexpectedPass], "case"))
	}
	return notJudged + ": " + whyNotJudged(run, n)
}

// notJudgedParts is e.g. "layout (80 cases), 2 cases for other reasons", ""
// for a run that judged all that was chosen.
func notJudgedParts(run result.Run) string {
	var parts []string
	for _, g := range run.NotJudged() {
		switch {
		case g.What != "":
			parts = append(parts, fmt.Sprintf("%s (%s)", cleanLine(g.What), plural(g.Cases, "case")))
		case len(parts) > 0:
			parts = append(parts, plural(g.Cases, "case")+" for other reasons")
		default:
			parts = append(parts, plural(g.Cases, "case"))
		}
	}
	return strings.Join(parts, ", ")
}

func unmetLine(unmet []string) string {
	return "required, but not offered by the target: " + strings.Join(unmet, ", ")
}

func whyNotJudged(run result.Run, n map[result.Verdict]int) string {
	switch {
	case run.Interrupted != "":
		return endedEarly + cleanLine(run.Interrupted)
	case n[result.Error] > 0:
		return plural(n[result.Error], "case") + " ended in trouble with the target, Redis or the harness"
	case len(run.Cases) == 0:
		return "no case ran"
	case n[result.Skipped] < len(run.Cases):
		return "required, but no case could judge it: " + strings.Join(run.Untried(), ", ")
	}
	return "every case was skipped"
}

// countsLine is e.g. "12 pass, 1 fail, 3 skipped"; verdicts that no case has
// are left out.
func countsLine(cases []result.Case) string {
	n := result.Counts(cases)
	var parts []string
	for _, v := range result.Verdicts() {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	if len(parts) == 0 {
		return "no cases"
	}
	return strings.Join(parts, ", ")
}

// occurring are the verdicts that some case has, in the order of summaries.
func occurring(run result.Run) []result.Verdict {
	n := result.Counts(run.Cases)
	return slices.DeleteFunc(result.Verdicts(), func(v result.Verdict) bool { return n[v] == 0 })
}

// deselected says how much of the contract a run left out on purpose, "" if
// nothing: its judgement covers no more than it ran.
func deselected(run result.Run) string {
	if run.Deselected == 0 || len(run.Cases) == 0 {
		return ""
	}
	ran := len(run.Cases) / max(1, len(run.Environments))
	return fmt.Sprintf("Only %d of %d cases were chosen with --run and --skip: the judgement covers no more.", ran, ran+run.Deselected)
}

// suite is the cases of one suite in one environment.
type suite struct {
	Name  string // with the environment if the run had several
	Env   string
	Cases []result.Case
}

func (s suite) duration() time.Duration {
	var d time.Duration
	for _, c := range s.Cases {
		d += c.Duration
	}
	return d
}

// suites groups the cases of a run by suite and environment, in their order.
func suites(run result.Run) []suite {
	var out []suite
	index := map[[2]string]int{}
	for _, c := range run.Cases {
		key := [2]string{c.Suite, c.Environment}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, suite{Name: label(run, c.Suite, c.Environment), Env: c.Environment})
		}
		out[i].Cases = append(out[i].Cases, c)
	}
	return out
}

// label is the name, with the environment if the run had several.
func label(run result.Run, name, env string) string {
	if len(run.Environments) > 1 {
		return cleanLine(name + " on " + env)
	}
	return cleanLine(name)
}

// skipGroup is the cases that were skipped for one reason.
type skipGroup struct {
	Reason string
	IDs    []string
}

func skipGroups(run result.Run) []skipGroup {
	var out []skipGroup
	index := map[string]int{}
	for _, c := range run.Cases {
		if c.Verdict != result.Skipped {
			continue
		}
		i, ok := index[c.Reason]
		if !ok {
			i = len(out)
			index[c.Reason] = i
			out = append(out, skipGroup{Reason: cleanLine(c.Reason)})
		}
		out[i].IDs = append(out[i].IDs, label(run, c.ID, c.Environment))
	}
	return out
}

// passed reports whether a case has nothing to explain.
func passed(v result.Verdict) bool { return v == result.Pass || v == result.Skipped }

// headline is one line that says what is wrong with a case.
func headline(c result.Case) string {
	if len(c.Findings) > 0 && c.Verdict != result.Error {
		f := c.Findings[0]
		return cut(cleanLine(f.Requirement+": "+f.What), 300)
	}
	if c.Reason != "" {
		return cut(cleanLine(c.Reason), 300)
	}
	return string(c.Verdict)
}

func targetLine(t result.Target) string {
	if t.Provider == "" {
		return cleanLine(t.Command)
	}
	return cleanLine(fmt.Sprintf("%s %s (%s, layout %s), --target %s", t.Provider, t.Version, t.Language, t.Layout, t.Command))
}

func environmentNames(run result.Run) string {
	var names []string
	for _, e := range run.Environments {
		names = append(names, cleanLine(e.Name))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
