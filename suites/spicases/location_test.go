package spicases

import (
	"slices"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

// locationSections are the cases that this test file is about.
func locationSections() []harness.Case {
	return slices.Concat(valueCases(), readCases(), conditionCases(), mutationCases(), atomicityCases(), boundCases(),
		scanCases())
}

func TestLocationCasesPassOnTheReference(t *testing.T) {
	suitetest.Passes(t, redistest.Env(t), targets.InProcess(refprovider.New()), locationSections())
}

func TestCaseIDsAreUniqueSlugs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		if seen[c.ID] || !strings.HasPrefix(c.ID, "spi/") || strings.ToLower(c.ID) != c.ID || strings.Contains(c.ID, " ") {
			t.Errorf("ID %q is used twice or is no slug", c.ID)
		}
		seen[c.ID] = true
	}
}
