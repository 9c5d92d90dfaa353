// Package harness runs conformance cases against a target and judges them.
package harness

import (
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// Case is one check of the contract. Most cases of suites/spicases are rows of
// tables that are turned into Cases.
type Case struct {
	// ID is a stable slug: suite, section and name, such as
	// spi/batch/last-condition-false.
	ID string
	// Title says in one sentence what must hold.
	Title string
	// Requirements are the contract IDs that the case verifies, the main one
	// first: a helper that fails without naming a requirement cites it.
	Requirements []string
	// Broad cases look at all of their requirements alike and end with the first
	// one that they see broken, so that none of them is the main one.
	Broad bool
	// Needs are what the target must offer; a case of which a need is missing
	// is skipped with that reason.
	Needs []Need
	// Heavy cases hold tens of MiB and run one at a time.
	Heavy bool
	// Slow cases wait for seconds, as for a cluster to form, and start first, so
	// that the others run meanwhile.
	Slow bool
	// Large cases move hundreds of MiB and only run with --large.
	Large bool
	// Timeout bounds the case; 0 is the run's default.
	Timeout time.Duration
	// Run does the work. It may call T's methods from its own goroutine and
	// from those that T.Concurrently starts.
	Run func(*T)
}

// Need is something that a target must offer for a case to be judged: a store,
// the official layout, or a capability by its protocol name.
type Need string

const (
	NeedLocation   Need = "store.location"
	NeedRelocation Need = "store.relocation"
	NeedLayout     Need = "layout.official"
)

// name is the need as reports and --require write it.
func (n Need) name() string {
	if n == NeedLayout {
		return result.LayoutNeed
	}
	return strings.TrimPrefix(string(n), "store.")
}

func (c Case) needs() []string {
	var names []string
	for _, n := range c.Needs {
		names = append(names, n.name())
	}
	return names
}

// Offerable is everything that a target may offer and a case may need.
func Offerable() []string {
	return slices.Concat([]string{targets.StoreLocation, targets.StoreRelocation, result.LayoutNeed}, targets.Capabilities())
}

// Suite is the part of the ID that reports group by: all but the last segment.
func (c Case) Suite() string {
	if i := strings.LastIndexByte(c.ID, '/'); i >= 0 {
		return c.ID[:i]
	}
	return c.ID
}
