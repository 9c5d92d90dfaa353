package resilience_test

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/resilience"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

func TestReferencePasses(t *testing.T) {
	suitetest.Passes(t, redistest.Env(t), targets.InProcess(refprovider.New()), resilience.Cases())
}
