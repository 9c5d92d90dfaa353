package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/kballard/go-shellquote"
	"golang.org/x/term"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/process"
	"github.com/zlink-systems/zlink-conformance/reports"
)

// job is a run that the flags describe.
type job struct {
	label        string   // the target as given
	command      []string // of the target; nil: the reference in this process
	environments []redisenv.Options
	config       harness.Config
	deselected   int      // cases that --run and --skip left out
	require      []string // what the target must offer
	files        []reportFile
	verbose      bool
	deadline     time.Duration // of the whole run; 0: none
	modelOps     int           // of each case of model/sequences; 0: the default
	replay       string        // file of the script that is played; "": none
	interruption *interruption
}

// do runs the cases in each environment and reports. A run that could not
// start or ended early is reported too, so that no older report of a file is
// taken for its outcome.
func (j *job) do(ctx context.Context, stdout, stderr io.Writer) error {
	if j.deadline > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, j.deadline, fmt.Errorf("its time was over (--deadline %v)", j.deadline))
		defer stop()
	}
	style := reports.Style{Color: !color.NoColor, Verbose: j.verbose}
	if style.Color {
		stdout = color.Output
	}
	run, err := j.runAll(ctx, stdout, stderr, style)
	run.Tool, run.Target.Command, run.Deselected, run.Required = version(), j.label, j.deselected, j.require
	if err != nil {
		run.Interrupted = err.Error()
	}
	if filesErr := writeFiles(j.files, run); filesErr != nil {
		err = errors.Join(err, filesErr)
	}
	if len(run.Cases) > 0 {
		if consoleErr := printed(0, reports.Console(stdout, run, style)); consoleErr != nil {
			return consoleErr
		}
	}
	if err != nil {
		return trouble(err)
	}
	return &exit{status: run.ExitStatus()}
}

// runAll runs the cases in one environment after the other. The error is
// trouble that kept an environment or the target from starting.
func (j *job) runAll(ctx context.Context, stdout, stderr io.Writer, style reports.Style) (result.Run, error) {
	var whole result.Run
	catalogue, err := contract.Load()
	if err != nil {
		return whole, err
	}
	config := j.config
	config.Catalogue = catalogue
	config.Reference = targets.InProcess(refprovider.New())
	done, finish := j.watch(stdout, style)
	config.Done = done
	defer finish()
	for i, options := range j.environments {
		if j.verbose {
			options.Log = stderr
		}
		run, err := j.runOne(ctx, config, options, stderr)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return whole, err
		}
		if i == 0 {
			whole = run
		} else {
			whole.Environments = append(whole.Environments, run.Environments...)
			whole.Cases = append(whole.Cases, run.Cases...)
			whole.Duration += run.Duration
			whole.Interrupted = run.Interrupted
		}
		if run.Interrupted != "" {
			break
		}
	}
	return whole, nil
}

func (j *job) runOne(ctx context.Context, config harness.Config, options redisenv.Options, stderr io.Writer) (run result.Run, err error) {
	env, err := redisenv.Start(ctx, options)
	if err != nil {
		return run, err
	}
	defer j.interruption.register(env)()
	defer closing(stderr, "Redis", env)
	if note := env.Note(); note != "" {
		fmt.Fprintln(stderr, "zlink-conformance: "+note)
	}
	config.Env = env
	config.Target = config.Reference
	if j.command != nil {
		if config.Target, err = process.Start(ctx, j.command, process.Options{}); err != nil {
			return run, err
		}
		defer closing(stderr, "the target", config.Target)
	}
	config.Repeat = func(id string) string { return j.repeat(options, id) }
	return harness.Run(ctx, config), nil
}

func closing(stderr io.Writer, what string, c io.Closer) {
	if err := c.Close(); err != nil {
		fmt.Fprintf(stderr, "zlink-conformance: ending %s: %v\n", what, err)
	}
}

// watch shows cases as they end: each in a line when verbose, else as a
// progress line if stdout is a terminal.
func (j *job) watch(stdout io.Writer, style reports.Style) (done func(result.Case), finish func()) {
	switch {
	case j.verbose:
		return func(c result.Case) { _ = reports.Line(stdout, c, style) }, func() {}
	case term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb":
		p := reports.NewProgress(stdout, len(j.config.Cases)*len(j.environments))
		return p.Done, p.Clear
	}
	return nil, func() {}
}

// repeat is the command that repeats a case; a password in the URL of Redis
// is masked.
func (j *job) repeat(o redisenv.Options, id string) string {
	words := []string{"zlink-conformance", "run", "--run", id, "--seed", strconv.FormatInt(j.config.Seed, 10)}
	add := func(flag, value, usual string) {
		if value != usual {
			words = append(words, flag, value)
		}
	}
	mode := o.Mode
	if u, err := url.Parse(mode); err == nil && strings.Contains(mode, "://") {
		mode = u.Redacted()
	}
	add("--target", j.label, inProcess)
	add("--redis", mode, redisenv.ModeAuto)
	add("--redis-image", o.Image, redisenv.DefaultImage)
	add("--topology", o.Topology, redisenv.TopologyStandalone)
	add("--model-ops", strconv.Itoa(j.modelOps), "0")
	add("--replay", j.replay, "")
	if j.config.Large {
		words = append(words, "--large")
	}
	return shellquote.Join(words...)
}
