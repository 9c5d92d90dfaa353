package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the tool and of the adapter protocol",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printed(io.WriteString(cmd.OutOrStdout(), versionText()))
		},
	}
}

// versionText is what the command and the flag print.
func versionText() string {
	return fmt.Sprintf("zlink-conformance %s (adapter protocol %d, %s)\n", version(), protocol.Version, runtime.Version())
}

// version is the module's version as the Go tool recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
