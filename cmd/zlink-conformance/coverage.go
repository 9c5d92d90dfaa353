package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/result"
	"github.com/zlink-systems/zlink-conformance/suites"
)

func newCoverage() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "coverage",
		Short: "Show which cases verify each requirement; exit status 1 if one has none",
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
	report := contract.Coverage(catalogue, cases, nil)
	report.Problems = slices.DeleteFunc(report.Problems, func(p contract.Problem) bool { return p.Kind == contract.NoMutant })
	return report, nil
}

func coverageRows(report contract.Report) [][]any {
	rows := [][]any{{"REQUIREMENT", "LEVEL", "CASES", "SENTENCE"}}
	for _, r := range report.Rows {
		by, sentence := fmt.Sprint(len(r.Cases)), r.Requirement.Sentence
		if !r.Requirement.Testable() {
			by, sentence = "-", sentence+" (no test: "+r.Requirement.Untestable+")"
		}
		rows = append(rows, []any{r.Requirement.ID, r.Requirement.Level, by, sentence})
	}
	rows = append(rows, []any{})
	for _, p := range report.Problems {
		rows = append(rows, []any{p.String()})
	}
	t := report.Totals
	return append(rows, []any{fmt.Sprintf("%d requirements, %d testable, %d of them with a case", t.Requirements, t.Testable, t.WithCase)})
}
