package model_test

import (
	"slices"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/model"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

// ofRetentions are scripts with retentions that no random script holds, and
// the mutants that each finds.
var ofRetentions = []struct {
	script string
	finds  []string
}{
	{`write do put a "x" for 1e10, put b "x" for 4294967297.5, put c "x" for 1e15
read a
read b
read c
scan s prefix "" limit 10`, []string{"retentions/location-unsigned-32-bits", "retentions/location-single-precision",
		"retentions/location-clipped-to-seconds"}},
	{`write do put a "x" for -1`, []string{"retentions/location-negative-32-bits"}},
	{`write do put a "x"
write do put a "y" for 1e19
write do put a "y" for 9223372036854775808
read a`, []string{"retentions/location-refused-yet-stored", "retentions/location-refused-yet-deleted",
		"retentions/location-wraps-at-2-to-63"}},
	{`write do put a "x" for 1e18
read a`, nil},
	{`blob put r "x" for 4294967297.25
blob read r
blob renew r for 4294967297.25
blob read r`, []string{"retentions/blob-put-unsigned-32-bits", "retentions/blob-renew-unsigned-32-bits"}},
	{`blob put r "x" for -1`, []string{"retentions/blob-put-negative-32-bits"}},
	{`blob put r "x" for 3600000
blob renew r for 1e19
blob put r "x" for 1e19
blob read r
blob put q "x" for 1e19
blob read q`, []string{"retentions/blob-refused-yet-stored", "retentions/blob-refused-yet-gone",
		"retentions/blob-renew-wraps-at-2-to-63"}},
	{`blob put r "x" for 0`, nil},
	{`blob renew r for -9223372036854775808`, nil},
	{`write if missing a do put a "x", put b "x" for 0`, nil},
	{`blob put r "x" for 0.5
blob read r
blob put r "x" for 5e-324
blob renew r for 1.5
write do put a "x" for 0.5, put b "x" for 1.5
read a
scan s prefix "" limit 10`, nil},
}

func TestReplaysRetentions(t *testing.T) {
	env := redistest.Env(t)
	for _, r := range ofRetentions {
		script, err := model.ParseScript(r.script)
		if err != nil {
			t.Fatal(err)
		}
		replay := []harness.Case{model.Replay(script)}
		for range 5 {
			suitetest.Passes(t, env, targets.InProcess(refprovider.New()), replay)
		}
		for _, id := range r.finds {
			m := mutant(t, id)
			c := suitetest.Run(t, env, m.Target(), replay, 1).Cases[0]
			// A retention that is not kept shows as an expiry that is not what it must be.
			want := append([]string{"L3.expiry-clock", "R3.expiry-clock", "R4.renew"}, m.Requirements...)
			if c.Verdict != result.Fail || !slices.Contains(want, c.Findings[0].Requirement) {
				t.Errorf("%s: %s %s, want a breach of %v\n%s", id, c.Verdict, c.Reason, want, suitetest.Show(c))
			}
		}
	}
}
