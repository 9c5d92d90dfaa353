package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/mutants"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/suites"
)

func newCoverage() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "coverage",
		Short: "Show which cases and mutants stand behind each requirement; exit status 1 if one has none",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := coverage()
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				err = printTable(cmd.OutOrStdout(), coverageRows(report))
			}
			if err == nil && len(report.Problems) > 0 {
				return &exit{status: result.ExitNonconform}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func coverage() (contract.Report, error) {
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
	return contract.Coverage(catalogue, cases, wrong), nil
}

func coverageRows(report contract.Report) [][]any {
	rows := [][]any{{"REQUIREMENT", "LEVEL", "CASES", "MUTANTS", "SENTENCE"}}
	for _, r := range report.Rows {
		by, wrong, sentence := fmt.Sprint(len(r.Cases)), fmt.Sprint(len(r.Mutants)), r.Requirement.Sentence
		if !r.Requirement.Testable() {
			by, wrong, sentence = "-", "-", sentence+" (no test: "+r.Requirement.Untestable+")"
		}
		rows = append(rows, []any{r.Requirement.ID, r.Requirement.Level, by, wrong, sentence})
	}
	rows = append(rows, []any{})
	for _, p := range report.Problems {
		rows = append(rows, []any{p.String()})
	}
	t := report.Totals
	return append(rows, []any{fmt.Sprintf("%d requirements, %d testable, %d of them with a case, %d with a mutant",
		t.Requirements, t.Testable, t.WithCase, t.WithMutant)})
}
