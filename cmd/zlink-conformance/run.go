package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/cmd/zlink-conformance/internal/selection"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets/process"
	"github.com/zlink-systems/zlink-conformance/suites"
	"github.com/zlink-systems/zlink-conformance/suites/model"
)

// inProcess is the --target that needs no process.
const inProcess = "reference"

// runFlags are the flags of run as given.
type runFlags struct {
	target                      string
	redis, image, topology      string
	run, skip, require          []string
	parallel                    int
	timeout, deadline           time.Duration
	seed                        int64
	strict, failFast, large     bool
	verbose                     bool
	modelOps                    int
	replay                      string
	junit, json, html, markdown string
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] [-- COMMAND [ARGUMENT...]]",
		Short: "Judge a target",
		Long: `Judge a target: run the cases against it on a real Redis and report.

The target is the Go reference in this process, or an adapter process: a command
given with --target (split into words as a shell does, but run without one) or
after --. An adapter has 30 s to start and say hello.

--run and --skip take patterns for case IDs: * stands for any characters, also
for slashes, ? for one, and a suite's name for all its cases.

A run that skipped cases because the target does not offer what they need, or
because they could not run here, says PARTIAL and what was not judged. That
alone is no failure, as a target may offer less than the whole; --require makes
it one.`,
		Example: `  zlink-conformance run
  zlink-conformance run --target 'node adapter.js' --junit out.xml
  zlink-conformance run --run spi/scan --skip '*/page-bytes*' -- ./my-adapter --fast`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, interruption, stop := interruptible(cmd.Context())
			defer stop()
			j, err := f.check(cmd, args)
			if err != nil {
				return err
			}
			j.interruption = interruption
			return j.do(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.target, "target", inProcess, "command of an adapter process, or reference")
	flags.StringVar(&f.redis, "redis", redisenv.ModeAuto, "Redis to test on: auto, docker, local or a URL")
	flags.StringVar(&f.image, "redis-image", redisenv.DefaultImage, "container images, separated by commas; all cases run on each, in Docker")
	flags.StringVar(&f.topology, "topology", redisenv.TopologyStandalone, "standalone or cluster")
	flags.StringArrayVar(&f.run, "run", nil, "run only cases that match the pattern (repeatable)")
	flags.StringArrayVar(&f.skip, "skip", nil, "leave out cases that match the pattern (repeatable)")
	flags.StringSliceVar(&f.require, "require", nil, "fail a target that does not offer one of these: "+strings.Join(harness.Offerable(), ", "))
	flags.IntVar(&f.parallel, "parallel", 12, "cases at once")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "time for a case")
	flags.DurationVar(&f.deadline, "deadline", 0, "time for the whole run, which then ends with exit status 3 (default: none)")
	flags.Int64Var(&f.seed, "seed", 0, "seed of order and data (default: a new one, which is reported)")
	flags.BoolVar(&f.strict, "strict", false, "a broken SHOULD fails the run")
	flags.BoolVar(&f.failFast, "fail-fast", false, "start no further case after the first failure")
	flags.BoolVar(&f.large, "large", false, "also run the cases that move hundreds of MiB")
	flags.IntVar(&f.modelOps, "model-ops", 0, "operations that each case of model/sequences performs (default: a few hundred)")
	flags.StringVar(&f.replay, "replay", "", "instead of the cases, play the script in this file, as a failed case of model/sequences left it")
	flags.StringVar(&f.junit, "junit", "", "write a JUnit report to this file")
	flags.StringVar(&f.json, "json", "", "write a JSON report to this file")
	flags.StringVar(&f.html, "html", "", "write an HTML report to this file")
	flags.StringVar(&f.markdown, "markdown", "", "write a Markdown summary to this file")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show each case as it ends, all evidence, and logs on stderr")
	return cmd
}

// check turns the flags into a job, or says what is wrong with them.
func (f *runFlags) check(cmd *cobra.Command, args []string) (*job, error) {
	command, err := f.command(cmd, args)
	if err != nil {
		return nil, err
	}
	if err := checkFileFlags(cmd, "replay", "junit", "json", "html", "markdown"); err != nil {
		return nil, err
	}
	if f.replay != "" {
		for _, other := range []string{"run", "skip", "model-ops"} {
			if cmd.Flags().Changed(other) {
				return nil, usage("--replay and --%s exclude each other: a script is the only case of its run", other)
			}
		}
	}
	for _, what := range f.require {
		if !slices.Contains(harness.Offerable(), what) {
			return nil, usage("--require %q: use any of %s", what, strings.Join(harness.Offerable(), ", "))
		}
	}
	if f.parallel < 1 {
		return nil, usage("--parallel %d: use a number from 1", f.parallel)
	}
	if f.timeout <= 0 {
		return nil, usage("--timeout %v: use a positive duration such as 30s", f.timeout)
	}
	if cmd.Flags().Changed("deadline") && f.deadline <= 0 {
		return nil, usage("--deadline %v: use a positive duration such as 20m", f.deadline)
	}
	if !cmd.Flags().Changed("seed") {
		f.seed = rand.Int64N(1_000_000_000)
	}
	environments, err := f.environments()
	if err != nil {
		return nil, err
	}
	all, err := f.cases(cmd)
	if err != nil {
		return nil, err
	}
	chosen, err := selection.Choose(caseIDs(all), f.run, f.skip)
	if err != nil {
		return nil, usage("%w", err)
	}
	if f.modelOps > 0 && !slices.ContainsFunc(chosen, func(id string) bool { return strings.HasPrefix(id, "model/sequences/") }) {
		return nil, usage("--model-ops needs a case of model/sequences, but --run and --skip leave none")
	}
	files, err := f.files()
	if err != nil {
		return nil, err
	}
	j := &job{
		label: f.target, command: command, environments: environments, files: files, deselected: len(all) - len(chosen), verbose: f.verbose, deadline: f.deadline,
		require: slices.Compact(slices.Sorted(slices.Values(f.require))), modelOps: f.modelOps, replay: f.replay,
		config: harness.Config{
			Cases:    slices.DeleteFunc(all, func(c harness.Case) bool { return !slices.Contains(chosen, c.ID) }),
			Parallel: f.parallel, Timeout: f.timeout, Seed: f.seed, Strict: f.strict, FailFast: f.failFast, Large: f.large,
			Artifacts: f.artifacts(),
		},
	}
	return j, nil
}

// cases are those to choose from: all, or the one that plays a script.
func (f *runFlags) cases(cmd *cobra.Command) ([]harness.Case, error) {
	if cmd.Flags().Changed("model-ops") && f.modelOps < 1 {
		return nil, usage("--model-ops %d: use a number from 1", f.modelOps)
	}
	if f.replay == "" {
		return suites.With(model.Options{Operations: f.modelOps}), nil
	}
	text, err := readInput(f.replay)
	if err != nil {
		return nil, usage("--replay: %w", err)
	}
	script, err := model.ParseScript(string(text))
	if err != nil {
		return nil, usage("--replay %s: %w", f.replay, err)
	}
	return []harness.Case{model.Replay(script)}, nil
}

// command is the target's command, nil for the reference in this process.
func (f *runFlags) command(cmd *cobra.Command, args []string) ([]string, error) {
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) > 0 && dash != 0:
		return nil, usage("unexpected argument %q: give the target's command with --target or after --", args[0])
	case dash == 0 && cmd.Flags().Changed("target"):
		return nil, usage("give the target either with --target or after --, not both")
	case dash == 0 && len(args) == 0:
		return nil, usage("no command after --")
	case dash == 0 && args[0] == "":
		return nil, usage("the command after -- is empty: give the command that starts the adapter")
	case dash == 0:
		f.target = shellquote.Join(args...)
		return args, nil
	case f.target == inProcess:
		return nil, nil
	}
	words, err := process.ParseCommand(f.target)
	if err != nil {
		return nil, usage("--target: %w", err)
	}
	return words, nil
}

// environments are the Redis servers to run on, one after the other.
func (f *runFlags) environments() ([]redisenv.Options, error) {
	modes := []string{redisenv.ModeAuto, redisenv.ModeDocker, redisenv.ModeLocal}
	if !slices.Contains(modes, f.redis) && !strings.Contains(f.redis, "://") {
		if strings.Contains(f.redis, "@") { // a URL with a slip in it, and perhaps with a password
			return nil, usage("--redis: the value with an @ is no URL: write it as redis://user:password@host:6379/0")
		}
		return nil, usage("--redis %q: use auto, docker, local or a URL such as redis://host:6379/0", f.redis)
	}
	if strings.Contains(f.redis, "://") {
		if err := redisenv.CheckURL(f.redis); err != nil {
			return nil, usage("%w", err)
		}
	}
	if f.topology != redisenv.TopologyStandalone && f.topology != redisenv.TopologyCluster {
		return nil, usage("--topology %q: use %s or %s", f.topology, redisenv.TopologyStandalone, redisenv.TopologyCluster)
	}
	mode := f.redis
	if f.image != redisenv.DefaultImage { // a wish that only a container fulfils
		if mode != redisenv.ModeAuto && mode != redisenv.ModeDocker {
			return nil, usage("--redis-image needs containers: use it with --redis docker")
		}
		mode = redisenv.ModeDocker
	}
	var out []redisenv.Options
	for image := range strings.SplitSeq(f.image, ",") {
		image = strings.TrimSpace(image)
		if image == "" {
			return nil, usage("--redis-image %q: an image is empty", f.image)
		}
		if slices.ContainsFunc(out, func(o redisenv.Options) bool { return o.Image == image }) {
			return nil, usage("--redis-image %q: %s is there twice", f.image, image)
		}
		out = append(out, redisenv.Options{Mode: mode, Image: image, Topology: f.topology, RunID: fmt.Sprint(f.seed)})
	}
	return out, nil
}
