package reports

import (
	"encoding/xml"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// outcome is the element by which a CI system judges a test case.
func outcome(c junit.Testcase) string {
	switch {
	case c.Failure != nil:
		return "failure:" + c.Failure.Type
	case c.Error != nil:
		return "error:" + c.Error.Type
	case c.Skipped != nil:
		return "skipped:" + c.Skipped.Type
	}
	return "pass"
}

func TestJUnitReadsBack(t *testing.T) {
	var doc junit.Testsuites
	if err := xml.Unmarshal([]byte(text(t, JUnit, sample())), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Tests != 10 || doc.Failures != 2 || doc.Errors != 2 || doc.Skipped != 3 {
		t.Errorf("totals: %d tests, %d failures, %d errors, %d skipped; want 10, 2, 2, 3", doc.Tests, doc.Failures, doc.Errors, doc.Skipped)
	}
	got := map[string]string{}
	var properties map[string]string
	for _, s := range doc.Suites {
		if len(s.Testcases) != s.Tests {
			t.Errorf("suite %s says %d tests and has %d", s.Name, s.Tests, len(s.Testcases))
		}
		for _, c := range s.Testcases {
			got[s.Name+" "+c.Name] = outcome(c)
		}
		properties = map[string]string{}
		for _, p := range *s.Properties {
			properties[p.Name] = p.Value
		}
	}
	const local = " on local redis-server 7.0.15 "
	want := map[string]string{
		"spi/read" + local + "spi/read/exact":                  "pass",
		"spi/batch" + local + "spi/batch/last-condition-false": "failure:fail",
		"spi/scan" + local + "spi/scan/page-bytes":             "pass",
		"counter" + local + "counter/issue":                    "skipped:skipped",
		"counter" + local + "counter/reissue":                  "skipped:skipped",
		"spi/read" + local + "spi/read/known":                  "skipped:known failure",
		"spi/read" + local + "spi/read/stale":                  "error:unexpected pass",
		"spi/read" + local + "spi/read/flaky":                  "failure:flaky",
		"spi/read" + local + "spi/read/died":                   "error:error",
		"spi/read on container redis:8.2 spi/read/exact":       "pass",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (- want, + got):\n%s", diff)
	}
	maps.DeleteFunc(properties, func(name, _ string) bool {
		return name != "target" && name != "redis.version" && name != "seed"
	})
	if diff := cmp.Diff(map[string]string{"target": "node adapter.js", "redis.version": "8.2.0", "seed": "42"}, properties); diff != "" {
		t.Errorf("properties of the last suite (- want, + got):\n%s", diff)
	}
}

// Requirement IDs are properties of each case, which the library does not read.
func TestJUnitNamesRequirements(t *testing.T) {
	var doc struct {
		Cases []struct {
			Name       string `xml:"name,attr"`
			Properties []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:"value,attr"`
			} `xml:"properties>property"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal([]byte(text(t, JUnit, sample())), &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range doc.Cases {
		for _, p := range c.Properties {
			if c.Name == "spi/batch/last-condition-false" && p.Name == "requirement" {
				got = append(got, p.Value)
			}
		}
	}
	if diff := cmp.Diff([]string{"L4.all-or-nothing", "L4.conflict-silent"}, got); diff != "" {
		t.Error(diff)
	}
}

// A run without a judgement must not look green to a CI system.
func TestJUnitOfARunWithoutJudgementHasAnError(t *testing.T) {
	interrupted := only(result.Pass)
	interrupted.Interrupted = "a signal came"
	for name, run := range map[string]result.Run{"interrupted": interrupted, "all skipped": only(result.Skipped), "no case": only()} {
		var doc junit.Testsuites
		if err := xml.Unmarshal([]byte(text(t, JUnit, run)), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Errors != 1 {
			t.Errorf("%s: %d errors, want 1", name, doc.Errors)
		}
	}
}

// What was required in vain must not look green either.
func TestJUnitOfAnUnmetRequirementHasAFailure(t *testing.T) {
	var doc junit.Testsuites
	if err := xml.Unmarshal([]byte(text(t, JUnit, require(offering(only(result.Pass), ""), "layout", "surface", "tls"))), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Failures != 2 {
		t.Errorf("%d failures, want 2", doc.Failures)
	}
}

func TestJUnitStrictAdvisoryIsAFailure(t *testing.T) {
	run := only(result.Advisory)
	run.Strict = true
	var doc junit.Testsuites
	if err := xml.Unmarshal([]byte(text(t, JUnit, run)), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Failures != 1 {
		t.Errorf("%d failures, want 1", doc.Failures)
	}
}

func TestJUnitFollowsTheSchema(t *testing.T) {
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not on PATH (Debian, Ubuntu: apt-get install libxml2-utils)")
	}
	valid := func(document string) (string, bool) {
		cmd := exec.Command(lint, "--noout", "--schema", "testdata/junit.xsd", "-")
		cmd.Stdin = strings.NewReader(document)
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	interrupted := sample()
	interrupted.Interrupted = hostile
	for name, run := range map[string]result.Run{"sample": sample(), "interrupted": interrupted, "no case": only(), "pass": only(result.Pass),
		"unmet": require(sample(), "layout")} {
		if out, ok := valid(text(t, JUnit, run)); !ok {
			t.Errorf("%s: %s", name, out)
		}
	}
	if _, ok := valid(`<testsuites><testsuite name="a" tests="1" failures="0" errors="0"><testcase name="b"/></testsuite></testsuites>`); ok {
		t.Error("the schema accepts a test case without a class name")
	}
}
