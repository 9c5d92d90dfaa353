package counter_test

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/suites/counter"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

func TestReferencePasses(t *testing.T) {
	suitetest.Passes(t, suitetest.Env(t), target.InProcess(target.Reference()), counter.Cases())
}
