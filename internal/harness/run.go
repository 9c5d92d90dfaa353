package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// Config is one run: cases, a target and a Redis.
type Config struct {
	Cases     []Case
	Catalogue *contract.Catalogue
	Target    targets.Target
	Reference targets.Target
	Env       *redisenv.Env
	Parallel  int           // cases at once; at least 1
	Timeout   time.Duration // of a case that does not set its own
	Seed      int64         // orders the cases and seeds their randomness
	Strict    bool          // an advisory counts as a failure
	FailFast  bool          // start no further case after the first failure
	Large     bool          // run Large cases too
	Artifacts string        // folder for what T.Artifact keeps; "": keep nothing
	// Done is called after each case, one call at a time; nil is fine.
	Done func(result.Case)
	// Repeat makes the command that repeats a case; nil is fine.
	Repeat func(id string) string
}

// Bounds of what the harness itself waits for.
const (
	abandonGrace = 5 * time.Second  // for a case's goroutine after it was given up
	cleanupLimit = 10 * time.Second // for what is done for one case after it has ended
	removalLimit = 2 * time.Minute  // for removing all keys of the run
)

type runner struct {
	config  Config
	id      string // makes key prefixes unique among runs
	client  *redis.Client
	skewed  *skewedTargets
	healthy health                  // the main Redis when the run began
	giveUp  context.CancelCauseFunc // ends the whole run
	sweeper *sweeper

	mu   sync.Mutex
	lost map[string]string // stores that can't be judged any more, and why
}

// lose takes note that the target, or one of its stores, can't be judged any
// more.
func (r *runner) lose(trouble *targets.TroubleError) {
	if trouble.Lost == targets.LostTarget {
		r.giveUp(trouble)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost[trouble.Lost] == "" {
		r.lost[trouble.Lost] = trouble.What
	}
}

var (
	errFailFast    = errors.New("a case failed and --fail-fast is set")
	errCaseTimeout = errors.New("its time was over")
)

// Run runs the cases and returns their outcomes in the order of config.Cases.
// When ctx ends early, pending cases are given up and the run says why in
// Interrupted; all that was finished is kept.
func Run(ctx context.Context, config Config) result.Run {
	started := time.Now()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	r := &runner{config: config, id: randomID(6), giveUp: giveUp, lost: map[string]string{}}
	r.skewed = newSkewedTargets(targets.CaseContext(ctx), config.Target)
	defer r.skewed.close()
	r.client = redis.NewClient(r.options())
	defer r.client.Close()
	release := func() error { return nil }
	if err := enoughFiles(); err != nil {
		giveUp(err)
	} else if begun, err := r.begin(ctx); err != nil {
		giveUp(fmt.Errorf("%s can't be used: %w", config.Env.Main().Name(), err))
	} else {
		release = begun
	}
	starting, stopStarting := context.WithCancelCause(ctx)
	defer stopStarting(nil)

	outcomes := make([]*result.Case, len(config.Cases))
	queue := newQueue(config.Cases, config.Seed)
	var wg sync.WaitGroup
	var done sync.Mutex
	for lane := range max(1, config.Parallel) {
		wg.Go(func() {
			for starting.Err() == nil {
				i, ok := queue.next(lane == 0)
				if !ok {
					return
				}
				c := r.runCase(ctx, config.Cases[i])
				done.Lock()
				outcomes[i] = &c
				if config.Done != nil {
					config.Done(c)
				}
				done.Unlock()
				if config.FailFast && (c.Verdict == result.Fail || config.Strict && c.Verdict == result.Advisory) {
					stopStarting(errFailFast)
				}
			}
		})
	}
	wg.Wait()
	left := release()
	if left != nil {
		giveUp(left)
	}

	run := result.Run{
		Target:       describeTarget(config.Target.Info()),
		Environments: []result.Environment{environment(config.Env.Main())},
		Seed:         config.Seed,
		Parallel:     max(1, config.Parallel),
		Strict:       config.Strict,
		Started:      started,
		Duration:     time.Since(started),
	}
	if ctx.Err() != nil {
		run.Interrupted = context.Cause(ctx).Error()
		if left != nil && !strings.HasSuffix(run.Interrupted, left.Error()) {
			run.Interrupted += "; " + left.Error()
		}
	}
	for i, c := range outcomes {
		if c == nil {
			skipped := r.blank(config.Cases[i])
			skipped.Verdict, skipped.Reason = result.Skipped, "not started: "+context.Cause(starting).Error()
			c = &skipped
		}
		run.Cases = append(run.Cases, *c)
	}
	return run
}

// begin makes sure of a Redis that every run can use, takes the run's lease and
// removes what killed runs left behind.
func (r *runner) begin(ctx context.Context) (release func() error, err error) {
	if err := oldRedis(r.config.Env.Main()); err != nil {
		return nil, err
	}
	if err := missingCommands(ctx, r.client, r.casePrefix()); err != nil {
		return nil, err
	}
	if r.healthy, err = readHealth(ctx, r.client); err != nil {
		return nil, err
	}
	giveBack, err := holdLease(ctx, r.client, r.id)
	if err != nil {
		return nil, err
	}
	r.sweeper = &sweeper{client: r.client, prefix: "zlc-" + r.id + "-", size: len(r.casePrefix()),
		ended: map[string]bool{}, wake: make(chan struct{}, 1)}
	sweeping, stopSweeping := context.WithCancel(context.WithoutCancel(ctx))
	var swept sync.WaitGroup
	swept.Go(func() { r.sweeper.run(sweeping) })
	release = func() error {
		stopSweeping()
		swept.Wait()
		limit := removalLimit
		if ctx.Err() != nil { // somebody waits for the end
			limit = cleanupLimit
		}
		limited, stop := context.WithTimeout(context.Background(), limit)
		defer stop()
		defer giveBack()
		// What an operation wrote that was given up and went on, and what a case
		// could not remove.
		if err := removeKeys(limited, r.client, "zlc-"+r.id+"-"); err != nil {
			return fmt.Errorf("keys that start with zlc-%s- could not be removed (%w): the next run on this Redis removes them",
				r.id, err)
		}
		return nil
	}
	if err := removeLeftovers(ctx, r.client); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// options are those of the harness's own clients: a Redis that is gone is to
// be noticed at once.
func (r *runner) options() *redis.Options {
	o := r.config.Env.Main().Options()
	o.MaxRetries, o.DialerRetries = -1, 1
	return o
}

func describeTarget(i targets.Info) result.Target {
	return result.Target{Provider: i.Provider, Language: i.Language, Version: i.Version, Stores: i.Stores, Layout: i.Layout,
		Capabilities: i.Capabilities}
}

func environment(s *redisenv.Server) result.Environment {
	return result.Environment{Name: s.Name(), Version: s.Version()}
}

func (r *runner) blank(c Case) result.Case {
	return result.Case{
		ID: c.ID, Suite: c.Suite(), Title: c.Title, Requirements: c.Requirements, Needs: c.needs(),
		Environment: r.config.Env.Main().Name(),
	}
}

func (r *runner) runCase(ctx context.Context, c Case) result.Case {
	out := r.blank(c)
	if reason := r.missing(c); reason != "" {
		out.Verdict, out.Reason = result.Skipped, reason
		return out
	}
	if reason := r.lostFor(c); reason != "" {
		out.Verdict, out.Reason = result.Skipped, "not started: "+reason
		return out
	}
	if c.Large && !r.config.Large {
		out.Verdict, out.Reason, out.Unchosen = result.Skipped, "moves hundreds of MiB: runs with --large", true
		return out
	}
	started := time.Now()
	_, logMark := r.config.Target.Log(0)
	limit := r.config.Timeout
	if c.Timeout > 0 {
		limit = c.Timeout
	}
	timed, cancelTimed := context.WithTimeoutCause(ctx, limit, errCaseTimeout)
	defer cancelTimed()
	caseCtx, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	caseCtx = targets.CaseContext(caseCtx)
	defer abandon(targets.ErrAbandoned)
	// Whatever ends the case early, operations see ErrAbandoned as the cause:
	// it is not the token of the operation.
	stopWatch := context.AfterFunc(timed, func() { abandon(fmt.Errorf("%w: %w", targets.ErrAbandoned, context.Cause(timed))) })
	defer stopWatch()

	t := &T{
		run: r, definition: c, ctx: caseCtx, prefix: r.casePrefix(),
		rand: mathrand.New(mathrand.NewPCG(caseSeed(r.config.Seed, c.ID), 1)),
	}
	t.target = &Provider{t: t, name: "target", target: r.config.Target}
	t.reference = &Provider{t: t, name: "reference", target: r.config.Reference, isReference: true}

	ended := make(chan ending, 1)
	go func() {
		defer func() {
			p := broken(recover())
			if b, ok := p.(breakage); ok {
				t.Notef("%s", b.stack)
			}
			ended <- ending{p, caseCtx.Err() != nil}
		}()
		c.Run(t)
	}()
	var end ending
	select {
	case end = <-ended:
	case <-caseCtx.Done():
		select {
		case end = <-ended:
		case <-time.After(abandonGrace):
			end = ending{breakage{value: "the case did not end after it was given up"}, true}
		}
	}
	r.judge(ctx, t, &out, end, timed, limit)
	if out.Verdict != result.Pass && out.Verdict != result.Skipped {
		r.collect(t, &out, logMark)
	}
	out.Reason = clip(out.Reason, maxTextLine)
	maskSecret(&out, r.config.Env.Main().ConnInfo().Password)
	abandon(targets.ErrAbandoned)
	r.cleanUp(t)
	out.Duration = time.Since(started)
	return out
}

// CaseBroke begins the reason of a case that is itself at fault: it panicked,
// or it cited a requirement that it does not declare.
const CaseBroke = "the case broke"

// ending is how a case's goroutine ended.
type ending struct {
	panicked any  // what broken said
	givenUp  bool // it was given up by then, so that its silence means nothing
}

// judge turns what the case left behind into a verdict.
func (r *runner) judge(ctx context.Context, t *T, out *result.Case, end ending, timed context.Context, limit time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out.Findings = t.findings
	broke, isBroken := end.panicked.(breakage)
	switch {
	case !isBroken && t.strange != "":
		out.Verdict, out.Reason = result.Error, CaseBroke+": "+t.strange
	case isBroken:
		out.Verdict = result.Error
		out.Reason = fmt.Sprintf("%s: %v", CaseBroke, broke.value)
	case len(t.findings) > 0:
		out.Verdict = result.Advisory
		for _, f := range t.findings {
			if f.Level != string(contract.Should) {
				out.Verdict = result.Fail
			}
		}
		if what := r.redisTrouble(); what != "" {
			out.Verdict, out.Reason = result.Error, what+", so that the provider can't be judged"
		}
	case t.verdict != "":
		out.Verdict, out.Reason = t.verdict, t.reason
		if t.verdict == result.Error {
			r.redisTrouble()
		}
	case end.givenUp && ctx.Err() != nil:
		out.Verdict, out.Reason = result.Error, "given up: "+context.Cause(ctx).Error()
	case end.givenUp && timed.Err() != nil:
		out.Verdict, out.Reason = result.Error, fmt.Sprintf("no end within %v (--timeout); see the last operations", limit)
	default:
		out.Verdict = result.Pass
	}
}

func (r *runner) collect(t *T, out *result.Case, logMark int64) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	log, _ := r.config.Target.Log(logMark)
	log = log[max(0, len(log)-maxLogLines):]
	for i, line := range log {
		log[i] = clip(line, maxTextLine)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out.Evidence = result.Evidence{
		Operations: slices.Clone(t.ops), Log: log, Notes: slices.Clone(t.notes),
		Redis: redisState(ctx, r.client, t.prefix),
	}
	if r.config.Repeat != nil {
		out.Repeat = r.config.Repeat(t.definition.ID)
	}
}

// casePrefix is a new key prefix for a case.
func (r *runner) casePrefix() string { return "zlc-" + r.id + "-" + randomID(4) }

// cleanUp closes what the case opened; the sweeper removes its keys.
func (r *runner) cleanUp(t *T) {
	t.mu.Lock()
	cleanups := t.cleanups
	t.mu.Unlock()
	for _, f := range slices.Backward(cleanups) {
		f()
	}
	r.sweeper.add(t.prefix)
}

// missing says what the target lacks for the case, or nothing.
func (r *runner) missing(c Case) string {
	info := r.config.Target.Info()
	for _, need := range c.Needs {
		switch {
		case need == NeedLocation && !info.Offers(targets.StoreLocation):
			return "the target offers no Location Store"
		case need == NeedRelocation && !info.Offers(targets.StoreRelocation):
			return "the target offers no Relocation Store"
		case need == NeedLayout && info.Layout != targets.LayoutOfficial:
			return "the target does not claim the official Redis layout (layout: " + info.Layout + ")"
		case !strings.Contains(string(need), "store.") && need != NeedLayout && !info.Has(string(need)):
			return "the target does not announce the capability " + string(need)
		}
	}
	return ""
}

// lostFor says why a store that the case needs can't be judged any more, or
// nothing.
func (r *runner) lostFor(c Case) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, need := range c.Needs {
		if what := r.lost[need.name()]; what != "" {
			return what
		}
	}
	return ""
}

func randomID(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}
