// Package resilience holds the cases of what happens when Redis, the network
// or a clock misbehaves: lost replies, timeouts, failures and what comes after
// them, moved clocks, other topologies. A provider is a black box: which
// commands an operation sends is its own affair, so a fault is aimed at each
// of the commands that the operation was seen to send.
package resilience

import (
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/kit"
)

// Cases returns all cases of the suite.
func Cases() []harness.Case {
	return slices.Concat(
		unknownCases(),
		failureCases(),
		timeoutCases(),
		cancelCases(),
		recoveryCases(),
		lifetimeCases(),
		tornCases(),
		clockCases(),
		momentCases(),
		blobMomentCases(),
		fractionCases(),
		topologyCases(),
		coldCases(),
		phaseCases(),
		queueCases(),
		sharedCases(),
		beforehandCases(),
		reconnectCases(),
		laterCases(),
		guessedCases(),
		againCases(),
		largePutCases(),
		openScanCases(),
		scanEventCases(),
		firstPageCases(),
		agedRecordCases(),
		leftoverCases(),
		versionCases(),
	)
}

// kind is a store of either kind: what the cases on it cite.
type kind struct {
	slug, title string
	need        harness.Need
	offered     string

	unknown, class, timeout, recover, reconstruct, dispose string
}

var (
	location = kind{
		slug: "location", title: "Location Store", need: harness.NeedLocation, offered: targets.StoreLocation,
		unknown: "L6.unknown-outcome", class: "L6.failure-class", timeout: "L6.timeout", recover: "L6.recover",
		reconstruct: "L6.reconstruct", dispose: "L7.dispose",
	}
	relocation = kind{
		slug: "relocation", title: "Relocation Store", need: harness.NeedRelocation, offered: targets.StoreRelocation,
		unknown: "R5.unknown-outcome", class: "R5.failure-class", timeout: "R5.timeout", recover: "R5.recover",
		reconstruct: "R5.reconcile", dispose: "R7.shared",
	}
	kinds = []*kind{&location, &relocation}
)

var (
	locationCase   = kit.Cases("resilience", harness.NeedLocation)
	relocationCase = kit.Cases("resilience", harness.NeedRelocation)
)

// The words of requests; see suites/kit.
var (
	write, given                  = kit.Write, kit.Given
	ifMissing, ifVersion, ifValue = kit.IfMissing, kit.IfVersion, kit.IfValue
	put, putFor, del              = kit.Put, kit.PutFor, kit.Delete
)

// newCase builds a case on a store of the kind.
func (k *kind) newCase(id, title, requirements string, run func(*harness.T), needs ...harness.Need) harness.Case {
	return kit.Cases("resilience", k.need)(id, title, requirements, run, needs...)
}

// eachKind makes one case for each kind of store.
func eachKind(id, title string, requirements func(*kind) string, run func(*harness.T, *kind),
	needs ...harness.Need) []harness.Case {
	var cases []harness.Case
	for _, k := range kinds {
		cases = append(cases, k.newCase(id+"-"+k.slug, strings.ReplaceAll(title, "%s", k.title), requirements(k),
			func(t *harness.T) { run(t, k) }, needs...))
	}
	return cases
}
