// Package mutants holds providers that are wrong on purpose, each in exactly
// one way, and runs the cases on them: a mutant that no case of its own
// requirement finds is a hole in the suites, and a case that finds no mutant
// has not shown what it is good for.
//
// Every mutant is the reference provider and a small change: edits of its
// scripts, a decorator in front of its stores, or another way to open them.
package mutants

import (
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// Mutant is a provider that is wrong in one way.
type Mutant struct {
	// ID is a stable slug: section and name, such as batch/no-condition-check.
	ID string
	// Requirements are the contract IDs that the mutant breaks, the main one
	// first. Only a finding that cites one of them proves anything of the mutant.
	Requirements []string
	// Title says in one sentence what is wrong.
	Title string
	// Also are globs of case IDs, as path.Match knows them, that are tried on
	// the mutant too although they name none of its requirements: it proves them,
	// not they it.
	Also []string

	edits    []edit                  // of the reference's scripts
	provider func() targets.Provider // nil: the reference, with the edits
}

// Target is the mutant as a target in this process.
func (m Mutant) Target() targets.Target {
	if m.provider == nil {
		return targets.InProcess(edited(m.edits))
	}
	p := m.provider()
	p.Another = m.provider
	return targets.InProcess(p)
}

// requirements splits what the tables hold: IDs with a space between them.
func requirements(ids string) []string { return strings.Fields(ids) }

// also adds globs of cases to a mutant of a table.
func (m Mutant) also(globs ...string) Mutant {
	m.Also = globs
	return m
}

// All returns every mutant, section by section. Their IDs are unique.
func All() []Mutant {
	return slices.Concat(
		valueMutants(),
		batchMutants(),
		scanMutants(),
		failureMutants(),
		lifetimeMutants(),
		troubleMutants(),
		layoutMutants(),
		counterMutants(),
		blobMutants(),
		blobLayoutMutants(),
		chunkMutants(),
		clockMutants(),
		hostClockMutants(),
		agingMutants(),
		momentMutants(),
		cleanUpMutants(),
		numberMutants(),
		inputMutants(),
		wideMutants(),
		pieceMutants(),
		compareMutants(),
		citingMutants(),
		strangeMutants(),
		surfaceMutants(),
		ringMutants(),
		besideMutants(),
	)
}
