package interop_test

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/interop"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

func TestReferencePasses(t *testing.T) {
	suitetest.Passes(t, redistest.Env(t), targets.InProcess(refprovider.New()), interop.Cases())
}

func TestSPIAloneIsNotJudged(t *testing.T) {
	p := refprovider.New()
	p.Info.Layout = targets.LayoutNone
	for _, c := range suitetest.Run(t, redistest.Env(t), targets.InProcess(p), interop.Cases(), 1).Cases {
		if c.Verdict != result.Skipped {
			t.Errorf("%s: %s, expected a skip", c.ID, c.Verdict)
		}
	}
}
