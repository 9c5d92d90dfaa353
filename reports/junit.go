package reports

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// testcase adds properties to the library's type, as several test frameworks
// write them.
type testcase struct {
	Properties []junit.Property `xml:"properties>property,omitempty"`
	junit.Testcase
}

// testsuite is the library's type with our test cases.
type testsuite struct {
	junit.Testsuite
	Testcases []testcase `xml:"testcase"`
}

// testsuites is the library's type with our test suites.
type testsuites struct {
	junit.Testsuites
	Suites []testsuite `xml:"testsuite"`
}

// JUnit writes the report for CI systems: one testsuite for each suite and
// environment. A broken MUST, a flaky case and, when strict, an advisory is a
// failure; trouble and a stale known failure is an error; a skip and a known
// failure is skipped. What --require names and the target does not offer is a
// failure in a testsuite of its own. What leaves the run without a judgement and is no case
// (an interruption, no case that could be judged) is an error in a testsuite
// of its own, so that no CI system takes such a run for a green one.
func JUnit(w io.Writer, run result.Run) error {
	doc := testsuites{Testsuites: junit.Testsuites{Name: "zlink-conformance", Time: seconds(run.Duration)}}
	add := func(s testsuite) {
		s.ID = len(doc.Suites)
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Errors += s.Errors
		doc.Testsuites.Skipped += s.Skipped
		doc.Suites = append(doc.Suites, s)
	}
	for _, s := range suites(run) {
		add(junitSuite(run, s))
	}
	if n := result.Counts(run.Cases); run.Interrupted != "" || run.ExitStatus() == result.ExitEnvironment && n[result.Error] == 0 {
		add(runTrouble(run))
	}
	if unmet := run.Unmet(); len(unmet) > 0 {
		add(unmetRequired(run, unmet))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitSuite(run result.Run, s suite) testsuite {
	out := newSuite(run, s.Name)
	out.Time = seconds(s.duration())
	out.AddProperty("redis", cleanLine(s.Env))
	for _, e := range run.Environments {
		if e.Name == s.Env {
			out.AddProperty("redis.version", cleanLine(e.Version))
		}
	}
	for _, c := range s.Cases {
		out.add(junitCase(run, s, c))
	}
	return out
}

func newSuite(run result.Run, name string) testsuite {
	s := testsuite{Testsuite: junit.Testsuite{Name: name, Time: seconds(0)}}
	s.SetTimestamp(run.Started.UTC())
	for _, p := range []junit.Property{
		{Name: "tool.version", Value: run.Tool},
		{Name: "target", Value: run.Target.Command},
		{Name: "target.provider", Value: run.Target.Provider},
		{Name: "target.language", Value: run.Target.Language},
		{Name: "target.version", Value: run.Target.Version},
		{Name: "target.layout", Value: run.Target.Layout},
		{Name: "target.capabilities", Value: strings.Join(run.Target.Capabilities, " ")},
		{Name: "seed", Value: strconv.FormatInt(run.Seed, 10)},
		{Name: "parallel", Value: strconv.Itoa(run.Parallel)},
		{Name: "deselected", Value: strconv.Itoa(run.Deselected)},
		{Name: "strict", Value: strconv.FormatBool(run.Strict)},
		{Name: "judgement", Value: Judgement(run)},
	} {
		s.AddProperty(p.Name, cleanLine(p.Value))
	}
	return s
}

func (s *testsuite) add(c testcase) {
	s.Testcases = append(s.Testcases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
}

func junitCase(run result.Run, s suite, c result.Case) testcase {
	out := testcase{
		Properties: []junit.Property{
			{Name: "title", Value: cleanLine(c.Title)},
			{Name: "verdict", Value: string(c.Verdict)},
		},
		Testcase: junit.Testcase{Name: cleanLine(c.ID), Classname: s.Name, Time: seconds(c.Duration)},
	}
	for _, id := range c.Requirements {
		out.Properties = append(out.Properties, junit.Property{Name: "requirement", Value: cleanLine(id)})
	}
	what := &junit.Result{Message: headline(c), Type: string(c.Verdict), Data: detailText(c, limits{})}
	switch c.Verdict {
	case result.Pass:
	case result.Fail, result.Flaky:
		out.Failure = what
	case result.Advisory:
		if run.Strict {
			out.Failure = what
		} else {
			out.SystemOut = &junit.Output{Data: "advisory\n" + what.Data}
		}
	case result.Skipped, result.KnownFailure:
		out.Skipped = what
	default:
		out.Error = what
	}
	if len(c.Evidence.Log) > 0 && !passed(c.Verdict) {
		out.SystemErr = &junit.Output{Data: clean(strings.Join(c.Evidence.Log, "\n"))}
	}
	return out
}

// runTrouble is a testsuite that says why the run as a whole has no judgement.
func runTrouble(run result.Run) testsuite {
	s := newSuite(run, "run")
	message := whyNotJudged(run, result.Counts(run.Cases))
	s.add(testcase{
		Properties: []junit.Property{{Name: "verdict", Value: string(result.Error)}},
		Testcase: junit.Testcase{
			Name: "run", Classname: "run", Time: seconds(0),
			Error: &junit.Result{Message: message, Type: string(result.Error)},
		},
	})
	return s
}

// unmetRequired is a testsuite that fails for each thing that --require names
// and the target does not offer.
func unmetRequired(run result.Run, unmet []string) testsuite {
	s := newSuite(run, "require")
	for _, what := range unmet {
		s.add(testcase{
			Properties: []junit.Property{{Name: "verdict", Value: string(result.Fail)}},
			Testcase: junit.Testcase{
				Name: cleanLine(what), Classname: "require", Time: seconds(0),
				Failure: &junit.Result{Message: unmetLine([]string{cleanLine(what)}), Type: string(result.Fail)},
			},
		})
	}
	return s
}
