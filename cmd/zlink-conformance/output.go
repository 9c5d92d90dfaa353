package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// printed turns the result of a print into the command's outcome.
func printed(_ int, err error) error {
	if err != nil {
		return trouble(fmt.Errorf("cannot write to stdout: %w", err))
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return printed(0, enc.Encode(v))
}

// printTable writes rows of cells in aligned columns.
func printTable(w io.Writer, rows [][]any) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	return printed(0, t.Flush())
}
