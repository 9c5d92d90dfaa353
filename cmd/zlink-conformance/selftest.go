package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/cmd/zlink-conformance/internal/selection"
	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/mutants"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/reports"
	"github.com/zlink-systems/zlink-conformance/suites"
)

// selftestFlags are the flags of selftest as given.
type selftestFlags struct {
	redis      string
	mutants    []string
	parallel   int
	seed       int64
	json, html string
	verbose    bool
	list       bool
	matrix     bool
}

func newSelftest() *cobra.Command {
	var f selftestFlags
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove the cases: run them on providers that are wrong on purpose",
		Long: `Prove the cases: run them on mutants, providers that are wrong on purpose, each
in one way, and show which cases find which of them. Lawful variants, right
providers that differ from the reference, must pass every case.

Exit status 1 if a mutant is found by no finding that cites a requirement which it
breaks, if a case fails on a lawful variant, or, with --matrix and all mutants, if a
case finds none or never fails under its own main requirement. Exit status 3 if mutants could not be tried, since this
machine lacks what the cases that find them need.`,
		Example: `  zlink-conformance selftest
  zlink-conformance selftest --mutant scan --mutant '*retention*' -v`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.check(cmd)
			if err != nil {
				return err
			}
			if f.list {
				return printed(io.WriteString(cmd.OutOrStdout(), mutantLines(s.config.Mutants, s.config.Variants)))
			}
			ctx, interruption, stop := interruptible(cmd.Context())
			defer stop()
			return s.do(ctx, interruption, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.mutants, "mutant", nil, "run only mutants and lawful variants that match the pattern, as --run of run (repeatable)")
	flags.BoolVar(&f.matrix, "matrix", false, "try every case on each mutant of its requirements, not only until one finds it, and judge the cases too")
	flags.BoolVar(&f.list, "list", false, "run nothing: list the mutants and lawful variants, with the requirements that each breaks or rests on")
	flags.StringVar(&f.redis, "redis", redisenv.ModeAuto, "Redis to test on: auto, docker, local or a URL")
	flags.IntVar(&f.parallel, "parallel", 4, "mutants at once")
	flags.Int64Var(&f.seed, "seed", 0, "seed of order and data (default: a new one, which is reported)")
	flags.StringVar(&f.json, "json", "", "write a JSON report to this file")
	flags.StringVar(&f.html, "html", "", "write an HTML report to this file")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show each mutant as it ends, and logs on stderr")
	return cmd
}

// selftest is a run of mutants that the flags describe.
type selftest struct {
	redis   redisenv.Options
	config  mutants.Config
	files   []matrixFile
	verbose bool
}

// matrixFile is a report that was asked for.
type matrixFile struct {
	path  string
	write func(io.Writer, result.Matrix) error
}

// check turns the flags into a selftest, or says what is wrong with them.
func (f *selftestFlags) check(cmd *cobra.Command) (*selftest, error) {
	if err := checkFileFlags(cmd, "json", "html"); err != nil {
		return nil, err
	}
	if f.parallel < 1 {
		return nil, usage("--parallel %d: use a number from 1", f.parallel)
	}
	if !cmd.Flags().Changed("seed") {
		f.seed = rand.Int64N(1_000_000_000)
	}
	// As of run, where one environment is one Redis.
	environments, err := (&runFlags{redis: f.redis, image: redisenv.DefaultImage, topology: redisenv.TopologyStandalone, seed: f.seed}).environments()
	if err != nil {
		return nil, err
	}
	all, variants := mutants.All(), mutants.Lawful()
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	for _, v := range variants {
		ids = append(ids, v.ID)
	}
	if len(f.mutants) > 0 {
		chosen, err := selection.Pick("--mutant", "zlink-conformance selftest --list", ids, f.mutants)
		if err != nil {
			return nil, usage("%w", err)
		}
		all = slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !slices.Contains(chosen, m.ID) })
		variants = slices.DeleteFunc(variants, func(v mutants.Variant) bool { return !slices.Contains(chosen, v.ID) })
	}
	if f.json != "" && f.html != "" && filepath.Clean(f.json) == filepath.Clean(f.html) {
		return nil, usage("--json and --html name the same file")
	}
	var files []matrixFile
	for _, r := range []struct {
		flag string
		matrixFile
	}{
		{"--json", matrixFile{f.json, reports.MatrixJSON}},
		{"--html", matrixFile{f.html, reports.MatrixHTML}},
	} {
		if r.path == "" {
			continue
		}
		if err := reports.Writable(r.path); err != nil {
			return nil, usage("%s: %w", r.flag, err)
		}
		files = append(files, r.matrixFile)
	}
	catalogue, err := contract.Load()
	if err != nil {
		return nil, err
	}
	return &selftest{
		redis: environments[0], files: files, verbose: f.verbose,
		config: mutants.Config{
			Cases: suites.All(), Catalogue: catalogue, Mutants: all, Variants: variants, Matrix: f.matrix, Whole: len(f.mutants) == 0, Parallel: f.parallel, Seed: f.seed,
		},
	}, nil
}

// mutantLines is a line for each mutant and lawful variant: ID, requirement,
// title.
func mutantLines(all []mutants.Mutant, variants []mutants.Variant) string {
	var rows [][3]string
	for _, m := range all {
		rows = append(rows, [3]string{m.ID, strings.Join(m.Requirements, " "), m.Title})
	}
	for _, v := range variants {
		rows = append(rows, [3]string{v.ID, v.Allowed, v.Title})
	}
	id, requirement := 0, 0
	for _, r := range rows {
		id, requirement = max(id, len(r[0])), max(requirement, len(r[1]))
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %-*s  %s\n", id, r[0], requirement, r[1], r[2])
	}
	return b.String()
}

func (s *selftest) do(ctx context.Context, interruption *interruption, stdout, stderr io.Writer) error {
	if s.verbose {
		s.redis.Log = stderr
	}
	env, err := redisenv.Start(ctx, s.redis)
	if err != nil {
		return trouble(err)
	}
	defer interruption.register(env)()
	defer closing(stderr, "Redis", env)
	if note := env.Note(); note != "" {
		fmt.Fprintln(stderr, "zlink-conformance: "+note)
	}
	config := s.config
	config.Env = env
	if s.verbose {
		config.Done = func(r result.MutantRow) { _ = reports.MatrixLine(stdout, r) }
		config.VariantDone = func(r result.VariantRow) { _ = reports.VariantLine(stdout, r) }
	}
	matrix := mutants.Run(ctx, config)
	matrix.Tool = version()
	for _, r := range s.files {
		if err := reports.WriteFile(r.path, func(w io.Writer) error { return r.write(w, matrix) }); err != nil {
			return trouble(err)
		}
	}
	if err := printed(0, reports.Matrix(stdout, matrix)); err != nil {
		return err
	}
	return &exit{status: matrix.ExitStatus()}
}
