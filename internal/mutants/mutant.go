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

	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// Mutant is a provider that breaks one requirement of the contract.
type Mutant struct {
	// ID is a stable slug: section and name, such as batch/no-condition-check.
	ID string
	// Requirement is the contract ID that the mutant breaks.
	Requirement string
	// Title says in one sentence what is wrong.
	Title string
	// Also are globs of case IDs, as path.Match knows them, that find the
	// mutant too although they do not name its requirement.
	Also []string

	edits    []edit                  // of the reference's scripts
	provider func() targets.Provider // nil: the reference, with the edits
}

// Target is the mutant as a target in this process.
func (m Mutant) Target() targets.Target {
	if m.provider == nil {
		return targets.InProcess(edited(m.edits))
	}
	return targets.InProcess(m.provider())
}

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
		layoutMutants(),
		counterMutants(),
		blobMutants(),
		blobLayoutMutants(),
		chunkMutants(),
		clockMutants(),
		hostClockMutants(),
		agingMutants(),
	)
}
