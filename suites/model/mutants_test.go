package model_test

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/mutants"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/suites/model"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

// foreign are mutants that were made for the other suites and not for this
// one, and the case of random scripts that finds each.
var foreign = map[string]string{
	"batch/missing-ignores-deletion": "location",
	"batch/last-condition-unchecked": "location",
	"batch/conflict-applies-half":    "location",
	"batch/put-keeps-the-expiry":     "location",
	"version/from-content":           "location",
	"value/as-text":                  "location",
	"key/lower-case":                 "location",
	"scan/several-round-trips":       "snapshots",
	"scan/new-keys-appear":           "snapshots",
	"scan/skips-between-pages":       "snapshots",
	"scan/equal-tombstones":          "snapshots",
	"scan/expires-page-by-page":      "clock",
	"scan/shows-expired":             "clock",
	"batch/version-of-expired":       "clock",
	"blob/last-byte-not-compared":    "relocation",
	"blob/renew-never-shortens":      "relocation",
	"blob/put-overwrites":            "relocation",
	"interop/one-row-too-few":        "shared-prefix",
	"interop/recreates-from-nothing": "shared-prefix",
}

func TestFindsForeignMutants(t *testing.T) {
	const longest = 8 // operations of a shrunk script
	env := redistest.Env(t)
	cases := map[string]harness.Case{}
	for _, c := range model.Cases(model.Options{Operations: 20_000}) {
		cases[c.ID] = c
	}
	tried := 0
	for _, m := range mutants.All() {
		slug, ok := foreign[m.ID]
		if !ok {
			continue
		}
		tried++
		c := suitetest.Run(t, env, m.Target(), []harness.Case{cases["model/sequences/"+slug]}, 1).Cases[0]
		switch c.Verdict {
		case result.Skipped:
			t.Logf("%s: skipped: %s", m.ID, c.Reason)
			continue
		case result.Fail:
		default:
			t.Errorf("%s (%s): %s %s, want a failure", m.ID, m.Title, c.Verdict, c.Reason)
			continue
		}
		text := replayable(t, c)
		script, err := model.ParseScript(text)
		if err != nil {
			t.Fatalf("%s: the note is no script: %v\n%s", m.ID, err, text)
		}
		t.Logf("%s (%s): %d operations, %v\n%s", m.ID, m.Requirements[0], len(script), c.Duration, text)
		if len(script) > longest {
			t.Errorf("%s: shrunk to %d operations, want at most %d", m.ID, len(script), longest)
		}
	}
	if tried != len(foreign) {
		t.Errorf("%d of %d mutants are there", tried, len(foreign))
	}
}
