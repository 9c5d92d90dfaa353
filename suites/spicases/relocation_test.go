package spicases

import (
	"slices"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

// storeCases are the cases of time, of the Relocation Store and of what both
// stores have in common.
func storeCases() []harness.Case {
	return slices.Concat(expiryCases(), relocationCases(), argumentCases(), bufferCases(), lifetimeCases())
}

func TestStoreCasesPassOnTheReference(t *testing.T) {
	suitetest.Passes(t, redistest.Env(t), targets.InProcess(refprovider.New()), storeCases())
}
