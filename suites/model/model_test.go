package model_test

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/suites/model"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

func TestReferencePasses(t *testing.T) {
	env := suitetest.Env(t)
	for range 3 {
		suitetest.Passes(t, env, target.InProcess(target.Reference()), model.Cases(model.Options{}))
	}
}
