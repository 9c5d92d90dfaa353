package interop_test

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/result"
	"github.com/zlink-systems/zlink-conformance/suites/interop"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

func TestReferencePasses(t *testing.T) {
	suitetest.Passes(t, suitetest.Env(t), target.InProcess(target.Reference()), interop.Cases())
}

func TestSPIAloneIsNotJudged(t *testing.T) {
	p := target.Reference()
	p.Info.Layout = target.LayoutNone
	for _, c := range suitetest.Run(t, suitetest.Env(t), target.InProcess(p), interop.Cases(), 1).Cases {
		if c.Verdict != result.Skipped {
			t.Errorf("%s: %s, expected a skip", c.ID, c.Verdict)
		}
	}
}
