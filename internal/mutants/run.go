package mutants

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// Config is one run of mutants.
type Config struct {
	Env       *redisenv.Env
	Cases     []harness.Case // Large ones are left out
	Catalogue *contract.Catalogue
	Mutants   []Mutant
	Variants  []Variant // right providers, which every case must pass
	Parallel  int       // mutants or variants at once; at least 1
	Seed      int64     // of order and data of the cases
	// Matrix tries every case of a mutant's requirements on it, not only until
	// one finds it.
	Matrix bool
	// Whole says that these are all mutants, so that with Matrix a case that finds
	// none of them is idle.
	Whole bool
	// Done and VariantDone are called after each mutant and variant, one call at
	// a time; nil is fine.
	Done        func(result.MutantRow)
	VariantDone func(result.VariantRow)
}

const (
	casesAtOnce = 6
	casesInTurn = 12 // cases that are tried before the next ones, until one finds the mutant
	// A mutant may well hang a case: what it must be caught by fails sooner.
	mutantTimeout = 20 * time.Second
	// A variant is right, so that a case without an end tells of a slow machine.
	variantTimeout = 2 * time.Minute
)

// Run tries on each mutant the cases that name a requirement of it. On a mutant
// that they do not find it tries the other cases as well, to tell a hole in
// the cases from a wrong requirement, and all of that once more: the row of a
// kill at the second try says so, since such a kill is to be doubted. When ctx
// ends early, the rows of the mutants that were finished are kept.
func Run(ctx context.Context, config Config) result.Matrix {
	started := time.Now()
	config.Whole = config.Whole && config.Matrix
	r := &runner{config: config, used: map[string]use{}, onTopic: map[string]bool{}, defects: map[string]string{}}
	config.Cases = slices.DeleteFunc(slices.Clone(config.Cases), func(c harness.Case) bool { return c.Large })
	r.config.Cases = config.Cases

	rows := make([]*result.MutantRow, len(config.Mutants))
	variants := make([]*result.VariantRow, len(config.Variants))
	work := func(i int) error {
		if i < len(rows) {
			row, err := r.try(ctx, config.Mutants[i])
			if err == nil && row.Tried > 0 && row.Fate != result.Killed && row.Fate != result.NotTried {
				row, err = r.try(ctx, config.Mutants[i])
				if row.Fate == result.Killed {
					row.Reason = "found at the second try alone: by luck, or on a slow machine"
				}
			}
			if err == nil {
				rows[i] = &row
				r.tell(func() { call(config.Done, row) })
			}
			return err
		}
		i -= len(rows)
		row, err := r.judge(ctx, config.Variants[i])
		if err == nil {
			variants[i] = &row
			r.tell(func() { call(config.VariantDone, row) })
		}
		return err
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, config.Parallel) {
		wg.Go(func() {
			for i := range next {
				if err := work(i); err != nil {
					r.interrupt(err)
				}
			}
		})
	}
	for i := range len(rows) + len(variants) {
		if r.ended(ctx) {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()

	main := config.Env.Main()
	m := result.Matrix{
		Environment: result.Environment{Name: main.Name(), Version: main.Version()}, Seed: config.Seed,
		Started: started, Duration: time.Since(started), Interrupted: r.interrupted,
	}
	if m.Interrupted == "" && ctx.Err() != nil {
		m.Interrupted = context.Cause(ctx).Error()
	}
	for _, row := range rows {
		if row != nil {
			m.Mutants = append(m.Mutants, *row)
		}
	}
	for _, row := range variants {
		if row != nil {
			m.Variants = append(m.Variants, *row)
		}
	}
	for _, c := range config.Cases {
		if what := r.defects[c.ID]; what != "" {
			m.Defects = append(m.Defects, result.Kill{Case: c.ID, What: what})
		}
		switch r.used[c.ID] {
		case judged:
			m.Cases++
			if config.Whole {
				m.Idle = append(m.Idle, c.ID)
			}
		case found:
			m.Cases++
			if config.Whole && !c.Broad && !r.onTopic[c.ID] {
				m.OffTopic = append(m.OffTopic, c.ID)
			}
		case unused:
			if config.Whole && !named(c, config.Mutants) {
				m.Idle = append(m.Idle, c.ID)
			}
		}
	}
	return m
}

// use is what a case was good for.
type use int

const (
	unused use = iota // not tried, or skipped every time
	judged
	found // a mutant
)

type runner struct {
	config Config
	heavy  sync.Mutex // heavy cases run one at a time, whatever the mutant

	mu          sync.Mutex
	used        map[string]use
	onTopic     map[string]bool   // cases of which a finding cited the main requirement
	defects     map[string]string // cases that broke, and how
	interrupted string
}

// tell makes one call at a time.
func (r *runner) tell(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func call[R any](f func(R), row R) {
	if f != nil {
		f(row)
	}
}

func (r *runner) interrupt(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.interrupted == "" {
		r.interrupted = why.Error()
	}
}

func (r *runner) ended(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ctx.Err() != nil || r.interrupted != ""
}

// try runs the cases on one mutant. An error means that nothing can be said of
// the mutant, nor of any after it.
func (r *runner) try(ctx context.Context, m Mutant) (result.MutantRow, error) {
	started := time.Now()
	row := result.MutantRow{ID: m.ID, Requirements: m.Requirements, Title: m.Title, KilledBy: []result.Kill{}}
	if err := m.check(); err != nil {
		row.Fate, row.Reason = result.Broken, err.Error()
		return row, nil
	}
	own, others := split(r.config.Cases, m)
	outcomes, err := r.find(ctx, m, row, own)
	if err != nil {
		return row, err
	}
	row.KilledBy, row.Errors, row.Tried = r.kills(row, outcomes)
	r.note(outcomes, row.KilledBy)
	breaks := strings.Join(m.Requirements, ", ")
	skipped := slices.IndexFunc(outcomes, func(c result.Case) bool { return c.Verdict == result.Skipped })
	switch {
	case len(row.KilledBy) > 0 && row.Proves(row.KilledBy[0]):
		row.Fate = result.Killed
	case skipped >= 0:
		row.Fate, row.Reason = result.NotTried, outcomes[skipped].ID+" was skipped: "+outcomes[skipped].Reason
	case len(row.KilledBy) > 0:
		row.Fate, row.Reason = result.Miscited, "cases found it, but no finding cites "+breaks
	case len(row.Errors) > 0:
		row.Fate, row.Reason = result.Broken, "no case found it, but some ended in trouble: "+row.Errors[0].What
	case len(own) == 0:
		row.Fate, row.Reason = result.Survived, "no case names "+breaks
	default:
		row.Fate, row.Reason = result.Survived, "it passed the cases of "+breaks
	}
	if row.Fate == result.Survived {
		outcomes, err := r.run(ctx, m.Target, others, mutantTimeout)
		if err != nil {
			return row, err
		}
		if kills, _, tried := r.kills(row, outcomes); len(kills) > 0 {
			row.Fate, row.KilledBy, row.Tried = result.KilledByOther, kills, row.Tried+tried
		}
	}
	row.Duration = time.Since(started)
	return row, nil
}

// find runs the mutant's cases: all of them for the whole matrix, else some at
// a time until one finds it, those first that are about what it breaks.
func (r *runner) find(ctx context.Context, m Mutant, row result.MutantRow, own []harness.Case) ([]result.Case, error) {
	if r.config.Matrix {
		return r.run(ctx, m.Target, own, mutantTimeout)
	}
	own = slices.Clone(own)
	slices.SortStableFunc(own, func(a, b harness.Case) int { return cmp.Compare(distance(a, m), distance(b, m)) })
	var outcomes []result.Case
	for some := range slices.Chunk(own, casesInTurn) {
		more, err := r.run(ctx, m.Target, some, mutantTimeout)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, more...)
		if kills, _, _ := r.kills(row, more); len(kills) > 0 && row.Proves(kills[0]) {
			break
		}
	}
	return outcomes, nil
}

// distance says how late a case is tried on the mutant.
func distance(c harness.Case, m Mutant) int {
	d := 0
	if c.Requirements[0] != m.Requirements[0] {
		d++
	}
	if !slices.Contains(c.Requirements, m.Requirements[0]) {
		d += 2
	}
	if c.Slow {
		d += 4
	}
	if c.Heavy {
		d += 8
	}
	return d
}

// run runs the cases on a target that it opens; the heavy ones apart, so that
// no two targets hold their tens of MiB at once.
func (r *runner) run(
	ctx context.Context, open func() targets.Target, cases []harness.Case, timeout time.Duration,
) ([]result.Case, error) {
	var light, heavy []harness.Case
	for _, c := range cases {
		if c.Heavy {
			heavy = append(heavy, c)
		} else {
			light = append(light, c)
		}
	}
	outcomes, err := r.harness(ctx, open, light, timeout)
	if err != nil || len(heavy) == 0 {
		return outcomes, err
	}
	r.heavy.Lock()
	defer r.heavy.Unlock()
	more, err := r.harness(ctx, open, heavy, timeout)
	return append(outcomes, more...), err
}

func (r *runner) harness(
	ctx context.Context, open func() targets.Target, cases []harness.Case, timeout time.Duration,
) ([]result.Case, error) {
	if len(cases) == 0 {
		return nil, nil
	}
	t := open()
	defer t.Close()
	run := harness.Run(ctx, harness.Config{
		Cases: cases, Catalogue: r.config.Catalogue, Env: r.config.Env,
		Target: t, Reference: targets.InProcess(refprovider.New()),
		Parallel: casesAtOnce, Timeout: timeout, Seed: r.config.Seed,
	})
	if run.Interrupted != "" {
		return nil, errors.New(run.Interrupted)
	}
	return run.Cases, nil
}

// split parts the cases into those that must find the mutant and the others;
// heavy ones are only tried where they must.
func split(cases []harness.Case, m Mutant) (own, others []harness.Case) {
	for _, c := range cases {
		switch {
		case names(c, m):
			own = append(own, c)
		case !c.Heavy:
			others = append(others, c)
		}
	}
	return own, others
}

func names(c harness.Case, m Mutant) bool {
	return slices.ContainsFunc(m.Requirements, func(id string) bool { return slices.Contains(c.Requirements, id) }) ||
		slices.ContainsFunc(m.Also, func(glob string) bool {
			ok, _ := path.Match(glob, c.ID)
			return ok
		})
}

func named(c harness.Case, mutants []Mutant) bool {
	return slices.ContainsFunc(mutants, func(m Mutant) bool { return names(c, m) })
}

// kills sorts out what the cases said: a failure finds the mutant, an advisory
// does if it cites what the mutant breaks. Those that prove something of the
// mutant stand first.
func (r *runner) kills(row result.MutantRow, outcomes []result.Case) (kills, errs []result.Kill, tried int) {
	kills = []result.Kill{}
	for _, c := range outcomes {
		if c.Verdict != result.Skipped {
			tried++
		}
		if c.Verdict == result.Error {
			errs = append(errs, result.Kill{Case: c.ID, What: c.Reason})
			continue
		}
		if k := kill(row, c); c.Verdict == result.Fail || c.Verdict == result.Advisory && row.Proves(k) {
			kills = append(kills, k)
		}
	}
	slices.SortFunc(kills, func(a, b result.Kill) int {
		if x, y := row.Proves(a), row.Proves(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(r.place(a.Case), r.place(b.Case))
	})
	return kills, errs, tried
}

func kill(row result.MutantRow, c result.Case) result.Kill {
	k := result.Kill{Case: c.ID}
	for _, f := range c.Findings {
		said := slices.Contains(row.Requirements, f.Requirement) && !row.Proves(k)
		if said || k.What == "" {
			k.What = f.Requirement + ": " + f.What
		}
		if !slices.Contains(k.Cites, f.Requirement) {
			k.Cites = append(k.Cites, f.Requirement)
		}
	}
	return k
}

// place is where a case stands among all.
func (r *runner) place(id string) int {
	return slices.IndexFunc(r.config.Cases, func(c harness.Case) bool { return c.ID == id })
}

// note remembers what the cases were good for.
func (r *runner) note(outcomes []result.Case, kills []result.Kill) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range outcomes {
		if c.Verdict != result.Skipped {
			r.used[c.ID] = max(r.used[c.ID], judged)
		}
		if c.Verdict == result.Error && strings.HasPrefix(c.Reason, harness.CaseBroke) {
			r.defects[c.ID] = c.Reason
		}
		if slices.ContainsFunc(c.Findings, func(f result.Finding) bool { return f.Requirement == c.Requirements[0] }) {
			r.onTopic[c.ID] = true
		}
	}
	for _, k := range kills {
		r.used[k.Case] = found
	}
}
