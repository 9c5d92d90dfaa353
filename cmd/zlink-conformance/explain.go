package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/cmd/zlink-conformance/internal/selection"
	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/mutants"
	"github.com/zlink-systems/zlink-conformance/suites"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID|PATTERN",
		Short: "Explain a requirement or a case, or list the cases of a suite or pattern",
		Example: `  zlink-conformance explain L5.expired
  zlink-conformance explain spi/scan`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			catalogue, err := contract.Load()
			if err != nil {
				return err
			}
			cases := suites.All()
			text, err := explain(catalogue, cases, args[0])
			if err != nil {
				return err
			}
			return printed(io.WriteString(cmd.OutOrStdout(), text))
		},
	}
}

func explain(catalogue *contract.Catalogue, cases []harness.Case, id string) (string, error) {
	var b strings.Builder
	if r, ok := catalogue.Requirement(id); ok {
		explainRequirement(&b, r, cases)
		return b.String(), nil
	}
	if i := slices.IndexFunc(cases, func(c harness.Case) bool { return c.ID == id }); i >= 0 {
		explainCase(&b, catalogue, cases[i])
		return b.String(), nil
	}
	if matching, err := pickCases([]string{id}); err == nil {
		return caseLines(matching), nil
	}
	names := caseIDs(cases)
	for _, r := range catalogue.All() {
		names = append(names, r.ID)
	}
	return "", usage("%q is neither a requirement nor a case, and matches none; %s", id, selection.Suggest(names, id, "zlink-conformance list"))
}

func explainRequirement(w io.Writer, r contract.Requirement, cases []harness.Case) {
	sentence(w, r)
	if r.Untestable != "" {
		fmt.Fprintf(w, "  no test:  %s\n", r.Untestable)
	}
	for _, c := range cases {
		if slices.Contains(c.Requirements, r.ID) {
			fmt.Fprintf(w, "  case:     %s: %s\n", c.ID, c.Title)
		}
	}
	for _, m := range mutants.All() {
		if slices.Contains(m.Requirements, r.ID) {
			fmt.Fprintf(w, "  mutant:   %s: %s\n", m.ID, m.Title)
		}
	}
}

func explainCase(w io.Writer, catalogue *contract.Catalogue, c harness.Case) {
	fmt.Fprintf(w, "%s: %s\n", c.ID, c.Title)
	for _, need := range c.Needs {
		fmt.Fprintf(w, "  needs:    %s\n", need)
	}
	if c.Large {
		fmt.Fprintf(w, "  needs:    --large\n")
	}
	for _, id := range c.Requirements {
		if r, ok := catalogue.Requirement(id); ok {
			fmt.Fprintln(w)
			sentence(w, r)
		}
	}
	fmt.Fprintf(w, "\nzlink-conformance run --run %s\n", c.ID)
}

func sentence(w io.Writer, r contract.Requirement) {
	fmt.Fprintf(w, "%s (%s): %s\n  source:   %s\n", r.ID, r.Level, r.Sentence, r.Source)
	if r.Reading != "" {
		fmt.Fprintf(w, "  reading:  %s\n", r.Reading)
	}
}
