package suitetest

import (
	"context"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/redisenv"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/result"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/target"
)

// Edit replaces the first Old in a script of the reference, or in every script
// if it names none; an empty Old puts New in front.
type Edit struct{ Script, Old, New string }

// Sabotaged is the reference with its scripts edited.
func Sabotaged(edits ...Edit) target.Target {
	rewrite := func(script, source string) string {
		for _, e := range edits {
			if e.Script == "" || e.Script == script {
				source = strings.Replace(source, e.Old, e.New, 1)
			}
		}
		return source
	}
	p := target.Reference()
	p.OpenLocation = func(_ context.Context, c target.StoreConfig) (spi.LocationStore, error) {
		o, err := target.ReferenceOptions(c)
		if err != nil {
			return nil, err
		}
		o.Rewrite = rewrite
		return reference.OpenLocation(o)
	}
	p.OpenRelocation = func(_ context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
		o, err := target.ReferenceOptions(c)
		if err != nil {
			return nil, err
		}
		o.Rewrite = rewrite
		return reference.OpenRelocation(o)
	}
	return target.InProcess(p)
}

// Catches fails the test unless the case finds that the target breaks the
// requirement.
func Catches(tb testing.TB, env *redisenv.Env, t target.Target, cases []harness.Case, id, requirement string) {
	tb.Helper()
	for _, c := range cases {
		if c.ID != id {
			continue
		}
		out := Run(tb, env, t, []harness.Case{c}).Cases[0]
		if out.Verdict != result.Fail && out.Verdict != result.Advisory {
			tb.Errorf("%s: %s %s, expected a failure", id, out.Verdict, out.Reason)
			return
		}
		for _, f := range out.Findings {
			if f.Requirement == requirement {
				return
			}
		}
		tb.Errorf("%s found other breaches than %s:\n%s", id, requirement, Show(out))
		return
	}
	tb.Errorf("there is no case %s", id)
}
