package spi

import (
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

// locationHalf are the cases on the Location Store in this file's half of the
// suite: relocation and what both stores share is tested beside it.
func locationHalf() []harness.Case {
	var cases []harness.Case
	for _, section := range [][]harness.Case{valueCases(), readCases(), conditionCases(), mutationCases(), atomicityCases(), boundCases(), scanCases()} {
		cases = append(cases, section...)
	}
	return cases
}

func TestLocationCasesPassOnTheReference(t *testing.T) {
	suitetest.Passes(t, suitetest.Env(t), target.Reference(), locationHalf())
}

func TestCaseIDsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		if seen[c.ID] || !strings.HasPrefix(c.ID, "spi/") || strings.ToLower(c.ID) != c.ID || strings.Contains(c.ID, " ") {
			t.Errorf("ID %q is used twice or is no slug", c.ID)
		}
		seen[c.ID] = true
	}
}
