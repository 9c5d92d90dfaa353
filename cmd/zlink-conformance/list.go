package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/cmd/zlink-conformance/internal/selection"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
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
		Use:   "list [PATTERN...]",
		Short: "List the cases, or those that match a pattern as of run --run: ID, title, requirements",
		Example: `  zlink-conformance list
  zlink-conformance list spi/scan '*/page-bytes*'`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			cases, err := pickCases(patterns)
			if err != nil {
				return err
			}
			if asJSON {
				listed := []listedCase{}
				for _, c := range cases {
					listed = append(listed, listedCase{c.ID, c.Suite(), c.Title, c.Requirements, append([]harness.Need{}, c.Needs...), c.Large})
				}
				return printJSON(cmd.OutOrStdout(), listed)
			}
			return printed(io.WriteString(cmd.OutOrStdout(), caseLines(cases)))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// pickCases returns the cases that match a pattern, all if there is none.
func pickCases(patterns []string) ([]harness.Case, error) {
	all := suites.All()
	if len(patterns) == 0 {
		return all, nil
	}
	picked, err := selection.Pick("pattern", "zlink-conformance list", caseIDs(all), patterns)
	if err != nil {
		return nil, usage("%w", err)
	}
	return slices.DeleteFunc(all, func(c harness.Case) bool { return !slices.Contains(picked, c.ID) }), nil
}

// caseLines is a line for each case: ID, title and the first requirements. Only
// the IDs are aligned: a title may be long.
func caseLines(cases []harness.Case) string {
	const most = 3
	width := 0
	for _, c := range cases {
		width = max(width, len(c.ID))
	}
	var b strings.Builder
	for _, c := range cases {
		shown, more := c.Requirements, ""
		if len(shown) > most {
			shown, more = shown[:most], fmt.Sprintf(" +%d", len(shown)-most)
		}
		fmt.Fprintf(&b, "%-*s  %s  (%s%s)\n", width, c.ID, c.Title, strings.Join(shown, " "), more)
	}
	return b.String()
}

// caseIDs returns the IDs of the cases, in their order.
func caseIDs(cases []harness.Case) []string {
	ids := make([]string, len(cases))
	for i, c := range cases {
		ids[i] = c.ID
	}
	return ids
}
