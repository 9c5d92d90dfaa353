// Command zlink-conformance judges storage providers of the ZLink framework
// against the Location Store and Relocation Store contracts.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reports"
)

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs a command line and returns its exit status. What is no outcome
// of a command itself is a mistake in the command line.
func execute(args []string) int {
	logging.Disable() // the Redis client's: what matters comes back as an error
	// A closed stdout is an error of the write, and not the end of a process that
	// may have servers to stop.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	root := newRoot()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return result.ExitConforms
	}
	status := result.ExitUsage
	if e, ok := errors.AsType[*exit](err); ok {
		status = e.status
	}
	if text := strings.Join(strings.Fields(err.Error()), " "); text != "" {
		fmt.Fprintln(os.Stderr, "zlink-conformance: "+reports.CleanLine(text))
	}
	if e, ok := errors.AsType[*targets.TroubleError](err); ok {
		for _, line := range e.Log { // what the target wrote: evidence for the line above
			fmt.Fprintln(os.Stderr, "  "+reports.CleanLine(line))
		}
	}
	return status
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "zlink-conformance",
		Short: "Judge ZLink storage providers against their contract",
		Long: `zlink-conformance judges a Location Store and Relocation Store provider against
the contract of the ZLink framework and its official Redis layout: it starts a
real Redis, runs the provider beside a reference provider and reports.

Exit status: 0 the target conforms, 1 it does not, 2 a mistake in the command
line or the configuration, 3 trouble with Redis or the target, or interrupted.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s; see %s --help", flagProblem(err), cmd.CommandPath())
	})
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}")
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newRun(), newList(), newExplain(), newCoverage(), newSelftest(), newFixtures(), newAdapter(), newVersion())
	return root
}

// newHelp is the help command, to which an unknown topic is a mistake.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help on a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage("no help on %q: zlink-conformance help lists the commands", strings.Join(args, " "))
			}
			return cmd.Help()
		},
	}
}

// flagProblem says what is wrong with a flag without the words of the Go
// library that read its value.
func flagProblem(err error) string {
	e, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err.Error()
	}
	wants := map[string]string{
		"int": "a whole number", "int64": "a whole number", "bool": "true or false", "duration": "a duration such as 30s or 5m",
	}[e.GetFlag().Value.Type()]
	if errors.Is(err, strconv.ErrRange) {
		wants += " that is not so large"
	}
	return fmt.Sprintf("--%s %q: use %s", e.GetFlag().Name, e.GetValue(), wants)
}
