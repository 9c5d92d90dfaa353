// Package spicases holds the cases of the two storage contracts: what any provider
// must do, whatever it keeps in Redis. One file per section of the contract.
package spicases

import (
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
)

// Cases returns all cases of the suite, the Location Store first.
func Cases() []harness.Case {
	return slices.Concat(
		valueCases(),
		readCases(),
		conditionCases(),
		mutationCases(),
		atomicityCases(),
		wideCases(),
		boundCases(),
		byteBoundCases(),
		retentionCases(),
		scanCases(),
		expiryCases(),
		relocationCases(),
		compareCases(),
		argumentCases(),
		bufferCases(),
		ringCases(),
		lifetimeCases(),
	)
}
