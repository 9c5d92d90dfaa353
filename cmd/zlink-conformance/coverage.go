package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/mutants"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/suites"
)

func newCoverage() *cobra.Command {
	var asJSON bool
	var matrix string
	cmd := &cobra.Command{
		Use:   "coverage",
		Short: "Show which cases and mutants stand behind each requirement; exit status 1 if one has none",
		Long: `Show which cases and mutants stand behind each requirement.

With --matrix, the JSON report of a selftest of all mutants, also show for each
requirement a case that found a mutant by a finding that cites it.

Exit status 1 if a requirement has no case, no mutant or, with --matrix, no such
finding.`,
		Example: `  zlink-conformance coverage
  zlink-conformance selftest --json selftest.json && zlink-conformance coverage --matrix selftest.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var proofs []contract.Proof
			if cmd.Flags().Changed("matrix") {
				var err error
				if proofs, err = readProofs(matrix); err != nil {
					return usage("--matrix: %w", err)
				}
			}
			report, err := coverage(proofs)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = printTable(cmd.OutOrStdout(), coverageRows(report, proofs != nil))
			}
			if err == nil && len(report.Problems) > 0 {
				return &exit{status: result.ExitNonconform}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&matrix, "matrix", "", "show what the JSON report of a selftest proves of each requirement")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// readProofs reads what a selftest of all mutants has proven.
func readProofs(path string) ([]contract.Proof, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var matrix result.Matrix
	if err := json.Unmarshal(data, &matrix); err != nil {
		return nil, fmt.Errorf("%s is no JSON report of a selftest: %w", path, err)
	}
	for _, m := range mutants.All() {
		if !slices.ContainsFunc(matrix.Mutants, func(r result.MutantRow) bool { return r.ID == m.ID }) {
			return nil, fmt.Errorf("%s knows nothing of the mutant %s; run selftest of this version with all mutants", path, m.ID)
		}
	}
	proofs := []contract.Proof{}
	for _, row := range matrix.Mutants {
		for _, k := range row.KilledBy {
			for _, id := range row.Requirements {
				if slices.Contains(k.Cites, id) {
					proofs = append(proofs, contract.Proof{Requirement: id, Case: k.Case, Mutant: row.ID})
				}
			}
		}
	}
	return proofs, nil
}

func coverage(proofs []contract.Proof) (contract.Report, error) {
	catalogue, err := contract.Load()
	if err != nil {
		return contract.Report{}, err
	}
	var cases []contract.CaseRef
	for _, c := range suites.All() {
		cases = append(cases, contract.CaseRef{ID: c.ID, Requirements: c.Requirements})
	}
	var wrong []contract.MutantRef
	for _, m := range mutants.All() {
		wrong = append(wrong, contract.MutantRef{ID: m.ID, Requirements: m.Requirements})
	}
	return contract.Coverage(catalogue, cases, wrong, proofs), nil
}

func coverageRows(report contract.Report, proven bool) [][]any {
	row := func(cells ...any) []any {
		if !proven {
			cells = slices.Delete(cells, 4, 5)
		}
		return cells
	}
	rows := [][]any{row("REQUIREMENT", "LEVEL", "CASES", "MUTANTS", "PROVEN BY", "SENTENCE")}
	for _, r := range report.Rows {
		by, wrong, proof, sentence := fmt.Sprint(len(r.Cases)), fmt.Sprint(len(r.Mutants)), "-", r.Requirement.Sentence
		if !r.Requirement.Testable() {
			by, wrong, sentence = "-", "-", sentence+" (no test: "+r.Requirement.Untestable+")"
		}
		if r.Proof != nil {
			proof = r.Proof.Case + " on " + r.Proof.Mutant
		}
		rows = append(rows, row(r.Requirement.ID, r.Requirement.Level, by, wrong, proof, sentence))
	}
	rows = append(rows, []any{})
	for _, p := range report.Problems {
		rows = append(rows, []any{p.String()})
	}
	t := report.Totals
	total := fmt.Sprintf("%d requirements, %d testable, %d of them with a case, %d with a mutant",
		t.Requirements, t.Testable, t.WithCase, t.WithMutant)
	if proven {
		total += fmt.Sprintf(", %d proven", t.WithProof)
	}
	return append(rows, []any{total})
}
