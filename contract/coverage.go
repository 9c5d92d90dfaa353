package contract

import (
	"fmt"
	"slices"
)

// CaseRef is a case and the requirements that it verifies.
type CaseRef struct {
	ID           string
	Requirements []string
}

// MutantRef is a mutant and the requirements that it violates.
type MutantRef struct {
	ID           string
	Requirements []string
}

// Proof is a case that found a mutant by a finding that cites a requirement of
// both.
type Proof struct {
	Requirement string `json:"-"`
	Case        string `json:"case"`
	Mutant      string `json:"mutant"`
}

// Report says which cases and mutants stand behind each requirement.
type Report struct {
	Rows     []Row     `json:"rows"` // every requirement, in document order
	Problems []Problem `json:"problems"`
	Totals   Totals    `json:"totals"`
}

// Row is one requirement with the IDs that name it, each list sorted and
// without repetition.
type Row struct {
	Requirement Requirement `json:"requirement"`
	Cases       []string    `json:"cases"`
	Mutants     []string    `json:"mutants"`
	Proof       *Proof      `json:"proof,omitempty"` // the first; nil also if no proofs were asked for
}

// Totals counts the rows; With* count testable requirements
// alone, so that they compare with Testable.
type Totals struct {
	Requirements int `json:"requirements"`
	Testable     int `json:"testable"`
	WithCase     int `json:"withCase"`
	WithMutant   int `json:"withMutant"`
	WithProof    int `json:"withProof"`
}

// ProblemKind classifies a gap in the coverage.
type ProblemKind string

const (
	// NoCase: a testable requirement that no case verifies.
	NoCase ProblemKind = "no-case"
	// NoMutant: a testable requirement that no mutant violates.
	NoMutant ProblemKind = "no-mutant"
	// NoProof: a testable requirement by which no case found a mutant.
	NoProof ProblemKind = "no-proof"
	// UnknownInCase: a case names a requirement that the catalogue has not.
	UnknownInCase ProblemKind = "unknown-in-case"
	// UnknownInMutant: a mutant names a requirement that the catalogue has not.
	UnknownInMutant ProblemKind = "unknown-in-mutant"
)

// Problem is one gap in the coverage.
type Problem struct {
	Kind        ProblemKind `json:"kind"`
	Requirement string      `json:"requirement"`
	By          string      `json:"by,omitempty"` // the case or mutant that names an unknown requirement
}

// String says in one line what is wrong.
func (p Problem) String() string {
	switch p.Kind {
	case NoCase:
		return fmt.Sprintf("requirement %s has no case", p.Requirement)
	case NoMutant:
		return fmt.Sprintf("requirement %s has no mutant", p.Requirement)
	case NoProof:
		return fmt.Sprintf("no case has found a mutant of requirement %s by a finding that cites it", p.Requirement)
	case UnknownInCase:
		return fmt.Sprintf("case %s names the unknown requirement %q", p.By, p.Requirement)
	default:
		return fmt.Sprintf("mutant %s names the unknown requirement %q", p.By, p.Requirement)
	}
}

// Coverage joins the catalogue with the cases and mutants that name its
// requirements, and with what was proven; nil asks for no proofs. Problems come
// in this order: requirements without a case, without a mutant and without a
// proof (all in document order), then unknown requirements in cases and in
// mutants (both in the order given).
func Coverage(catalogue *Catalogue, cases []CaseRef, mutants []MutantRef, proofs []Proof) Report {
	caseIDs, mutantIDs := map[string][]string{}, map[string][]string{}
	unknown := []Problem{}
	for _, c := range cases {
		for _, id := range c.Requirements {
			if _, ok := catalogue.byID[id]; !ok {
				unknown = append(unknown, Problem{UnknownInCase, id, c.ID})
			}
			caseIDs[id] = append(caseIDs[id], c.ID)
		}
	}
	for _, m := range mutants {
		for _, id := range m.Requirements {
			if _, ok := catalogue.byID[id]; !ok {
				unknown = append(unknown, Problem{UnknownInMutant, id, m.ID})
			}
			mutantIDs[id] = append(mutantIDs[id], m.ID)
		}
	}

	var report Report
	var noCase, noMutant, noProof []Problem
	for _, r := range catalogue.all {
		row := Row{Requirement: r, Cases: unique(caseIDs[r.ID]), Mutants: unique(mutantIDs[r.ID])}
		if i := slices.IndexFunc(proofs, func(p Proof) bool { return p.Requirement == r.ID }); i >= 0 {
			row.Proof = &proofs[i]
		}
		report.Rows = append(report.Rows, row)
		report.Totals.Requirements++
		if !r.Testable() {
			continue
		}
		report.Totals.Testable++
		if len(row.Cases) > 0 {
			report.Totals.WithCase++
		} else {
			noCase = append(noCase, Problem{Kind: NoCase, Requirement: r.ID})
		}
		if len(row.Mutants) > 0 {
			report.Totals.WithMutant++
		} else {
			noMutant = append(noMutant, Problem{Kind: NoMutant, Requirement: r.ID})
		}
		if row.Proof != nil {
			report.Totals.WithProof++
		} else if proofs != nil {
			noProof = append(noProof, Problem{Kind: NoProof, Requirement: r.ID})
		}
	}
	report.Problems = slices.Concat(noCase, noMutant, noProof, unknown)
	return report
}

// unique returns the sorted distinct IDs, never nil, so that JSON shows [].
func unique(ids []string) []string {
	sorted := append([]string{}, ids...)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
