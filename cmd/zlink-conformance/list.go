package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/suites"
)

// listedCase is a case as list --json shows it.
type listedCase struct {
	ID           string         `json:"id"`
	Suite        string         `json:"suite"`
	Title        string         `json:"title"`
	Requirements []string       `json:"requirements"`
	Needs        []harness.Need `json:"needs"`
	Large        bool           `json:"large"`
}

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the cases: ID, requirements, title",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listed := []listedCase{}
			rows := [][]any{}
			for _, c := range suites.All() {
				listed = append(listed, listedCase{c.ID, c.Suite(), c.Title, c.Requirements, append([]harness.Need{}, c.Needs...), c.Large})
				rows = append(rows, []any{c.ID, strings.Join(c.Requirements, ","), c.Title})
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), listed)
			}
			return printTable(cmd.OutOrStdout(), rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// caseIDs returns the IDs of the cases, in their order.
func caseIDs(cases []harness.Case) []string {
	ids := make([]string, len(cases))
	for i, c := range cases {
		ids[i] = c.ID
	}
	return ids
}
