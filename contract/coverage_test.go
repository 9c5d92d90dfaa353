package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// three has two testable requirements and one that is not.
func three(t *testing.T) *Catalogue {
	t.Helper()
	catalogue, err := parse([]byte(`requirements:
  - {id: L4.put, level: MUST, source: location-store §4, sentence: Put puts.}
  - {id: L4.delete, level: MUST, source: location-store §4, sentence: Delete deletes.}
  - {id: L6.no-internals, level: MUST, source: location-store §6, sentence: Nothing shows., untestable: Out of reach.}
`))
	if err != nil {
		t.Fatal(err)
	}
	return catalogue
}

func TestCoverageProblems(t *testing.T) {
	fullCases := []CaseRef{{"a", []string{"L4.put", "L4.delete"}}}
	fullMutants := []MutantRef{{"m", []string{"L4.put"}}, {"n", []string{"L4.delete"}}}
	for _, test := range []struct {
		name     string
		cases    []CaseRef
		mutants  []MutantRef
		problems []string
		totals   Totals
	}{
		{"complete", fullCases, fullMutants, nil, Totals{3, 2, 2, 2, 0}},
		{"nothing", nil, nil, []string{
			"requirement L4.put has no case", "requirement L4.delete has no case",
			"requirement L4.put has no mutant", "requirement L4.delete has no mutant",
		}, Totals{3, 2, 0, 0, 0}},
		{"no case", []CaseRef{{"a", []string{"L4.put"}}}, fullMutants,
			[]string{"requirement L4.delete has no case"}, Totals{3, 2, 1, 2, 0}},
		{"no mutant", fullCases, fullMutants[1:],
			[]string{"requirement L4.put has no mutant"}, Totals{3, 2, 2, 1, 0}},
		{"unknown in case", append(fullCases, CaseRef{"b", []string{"L4.putt"}}), fullMutants,
			[]string{`case b names the unknown requirement "L4.putt"`}, Totals{3, 2, 2, 2, 0}},
		{"unknown in mutant", fullCases, append(fullMutants, MutantRef{"o", []string{"L4.drop"}}),
			[]string{`mutant o names the unknown requirement "L4.drop"`}, Totals{3, 2, 2, 2, 0}},
		{"untestable with case and mutant counts in no total",
			append(fullCases, CaseRef{"b", []string{"L6.no-internals"}}),
			append(fullMutants, MutantRef{"o", []string{"L6.no-internals"}}),
			nil, Totals{3, 2, 2, 2, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := Coverage(three(t), test.cases, test.mutants, nil)
			var problems []string
			for _, p := range report.Problems {
				problems = append(problems, p.String())
			}
			if diff := cmp.Diff(test.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if report.Totals != test.totals {
				t.Errorf("totals %+v, want %+v", report.Totals, test.totals)
			}
		})
	}
}

func TestCoverageRows(t *testing.T) {
	report := Coverage(three(t),
		[]CaseRef{{"b", []string{"L4.put", "L4.put"}}, {"a", []string{"L4.put", "L6.no-internals"}}},
		[]MutantRef{{"n", []string{"L4.delete"}}, {"m", []string{"L4.delete"}}}, nil)
	type row struct {
		ID             string
		Cases, Mutants []string
	}
	var got []row
	for _, r := range report.Rows {
		got = append(got, row{r.Requirement.ID, r.Cases, r.Mutants})
	}
	want := []row{
		{"L4.put", []string{"a", "b"}, []string{}},
		{"L4.delete", []string{}, []string{"m", "n"}},
		{"L6.no-internals", []string{"a"}, []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestCoverageOfProofs(t *testing.T) {
	proofs := []Proof{{"L4.put", "a", "m"}, {"L4.put", "b", "n"}}
	report := Coverage(three(t), []CaseRef{{"a", []string{"L4.put", "L4.delete"}}},
		[]MutantRef{{"m", []string{"L4.put", "L4.delete"}}}, proofs)
	if got := report.Rows[0].Proof; got == nil || *got != proofs[0] {
		t.Errorf("L4.put is proven by %v, want %v", got, proofs[0])
	}
	if diff := cmp.Diff([]Problem{{Kind: NoProof, Requirement: "L4.delete"}}, report.Problems); diff != "" ||
		report.Totals.WithProof != 1 {
		t.Errorf("%d proven, problems (-want +got):\n%s", report.Totals.WithProof, diff)
	}
	if none := Coverage(three(t), nil, nil, []Proof{}); len(none.Problems) != 6 {
		t.Errorf("without cases, mutants and proofs: %v, want 6 problems", none.Problems)
	}
}
