package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	adapter "github.com/zlink-systems/zlink-conformance/adapters/go"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
)

func newAdapter() *cobra.Command {
	return &cobra.Command{
		Use:   "adapter",
		Short: "Serve the Go reference through the adapter protocol on stdin and stdout",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := adapter.Serve(cmd.Context(), refprovider.New(), os.Stdin, cmd.OutOrStdout()); err != nil {
				return trouble(fmt.Errorf("the adapter ended: %w", err))
			}
			return nil
		},
	}
}
