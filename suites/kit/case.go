// Package kit is the vocabulary that the suites share: how a case is built and
// how a request is said.
package kit

import (
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
)

// Builder makes a case: the ID without its suite, the title, the requirements
// with a space between them and the main one first, what the case does, and what
// it needs of a target beside what all cases of the builder need.
type Builder func(id, title, requirements string, run func(*harness.T), needs ...harness.Need) harness.Case

// Cases is the builder for those cases of a suite that need the same.
func Cases(suite string, all ...harness.Need) Builder {
	return func(id, title, requirements string, run func(*harness.T), needs ...harness.Need) harness.Case {
		return harness.Case{
			ID: suite + "/" + id, Title: title, Requirements: strings.Fields(requirements), Needs: slices.Concat(all, needs),
			Run: run,
		}
	}
}

// Slow says that the case waits for seconds; see harness.Case.
func Slow(c harness.Case) harness.Case {
	c.Slow = true
	return c
}

// Heavy says that the case holds tens of MiB; see harness.Case.
func Heavy(c harness.Case) harness.Case {
	c.Heavy = true
	return c
}
