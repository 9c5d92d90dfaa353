package harness

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// stub is a Location Store of which every read does what the test says.
type stub struct {
	spi.LocationStore
	read func(ctx context.Context) (spi.ReadResult, error)
}

func (s stub) Read(ctx context.Context, _ spi.Key) (spi.ReadResult, error) { return s.read(ctx) }
func (s stub) Close() error                                                { return nil }

func stubTarget(read func(ctx context.Context) (spi.ReadResult, error)) targets.Target {
	return targets.InProcess(targets.Provider{
		Info: targets.Info{Provider: "stub", Stores: []string{targets.StoreLocation}, Layout: targets.LayoutNone},
		OpenLocation: func(context.Context, targets.StoreConfig) (spi.LocationStore, error) {
			return stub{read: read}, nil
		},
	})
}

func missing(context.Context) (spi.ReadResult, error) { return spi.Missing{StoreNow: 1}, nil }

func config(t *testing.T, env *redisenv.Env, cases ...Case) Config {
	t.Helper()
	catalogue, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Cases: cases, Catalogue: catalogue, Target: stubTarget(missing), Reference: stubTarget(missing),
		Env: env, Parallel: 4, Timeout: 30 * time.Second, Seed: 1}
}

func TestVerdicts(t *testing.T) {
	env := redistest.Env(t)
	storeFailure := &spi.Error{Kind: spi.KindStoreFailure, Message: "no"}
	tests := []struct {
		name    string
		read    func(context.Context) (spi.ReadResult, error)
		change  func(*Case, *Config)
		run     func(*T)
		verdict result.Verdict
		reason  string
		finding string // requirement
	}{
		{name: "pass", run: func(t *T) { t.Location().MustMiss("k") }, verdict: result.Pass},
		{name: "a broken MUST", run: func(t *T) { t.Failf("L3.version-fresh", "x") }, verdict: result.Fail,
			finding: "L3.version-fresh"},
		{name: "a broken SHOULD", run: func(t *T) { t.Failf("L6.failure-scope", "x") }, verdict: result.Advisory,
			finding: "L6.failure-scope"},
		{name: "both", run: func(t *T) { t.Failf("L6.failure-scope", "x"); t.Failf("L4.put", "x") }, verdict: result.Fail,
			finding: "L6.failure-scope"},
		{name: "a requirement that the case does not declare", run: func(t *T) { t.Failf("L4.put", "x"); t.Failf("L5.cas", "y") },
			change:  func(c *Case, _ *Config) { c.Requirements = []string{"L4.put"} },
			verdict: result.Error, reason: "the case broke: it cites L5.cas, which it does not declare: y"},
		{name: "a step that cites", run: func(t *T) { t.Location().Citing("L3.value-durable").MustFind("k") },
			change:  func(c *Case, _ *Config) { c.Requirements = []string{"L4.put", "L3.value-durable"} },
			verdict: result.Fail, finding: "L3.value-durable"},
		{name: "a step of which the case declares the rule", run: func(t *T) { t.Location().MustFind("k") },
			change:  func(c *Case, _ *Config) { c.Requirements = []string{"L2.observation", "L4.put"} },
			verdict: result.Fail, finding: "L4.put"},
		{name: "a step with the wrong answer", run: func(t *T) { t.Location().MustFind("k") }, verdict: result.Fail,
			finding: "L4.put"},
		{name: "a step that fails", read: func(context.Context) (spi.ReadResult, error) { return nil, storeFailure },
			run: func(t *T) { t.Location().MustFind("k") }, verdict: result.Fail, finding: "L4.put"},
		{name: "a reference that fails", change: func(_ *Case, c *Config) {
			c.Reference = stubTarget(func(context.Context) (spi.ReadResult, error) { return nil, storeFailure })
		}, run: func(t *T) { t.Reference().Location().MustMiss("k") }, verdict: result.Error, reason: "the reference failed"},
		{name: "a failing goroutine", run: func(t *T) {
			t.Concurrently(2, func(int) { t.Location().MustFind("k") })
		}, verdict: result.Fail, finding: "L4.put"},
		{name: "skip", run: func(t *T) { t.Skipf("no clock") }, verdict: result.Skipped, reason: "no clock"},
		{name: "a need", change: func(c *Case, _ *Config) { c.Needs = []Need{NeedRelocation} }, verdict: result.Skipped,
			reason: "no Relocation Store"},
		{name: "a layout", change: func(c *Case, _ *Config) { c.Needs = []Need{NeedLayout} }, verdict: result.Skipped,
			reason: "official Redis layout"},
		{name: "a capability", change: func(c *Case, _ *Config) { c.Needs = []Need{targets.CapCancellation} },
			verdict: result.Skipped, reason: "capability cancellation"},
		{name: "text that the target can't express", read: func(context.Context) (spi.ReadResult, error) {
			return nil, &targets.InexpressibleError{}
		}, run: func(t *T) { t.Location().MustMiss("k") }, verdict: result.Skipped},
		{name: "large", change: func(c *Case, _ *Config) { c.Large = true }, verdict: result.Skipped, reason: "--large"},
		{name: "unsupported", read: func(context.Context) (spi.ReadResult, error) {
			return nil, &spi.Error{Kind: spi.KindUnsupported, Message: "no"}
		}, run: func(t *T) { t.Location().MustMiss("k") }, verdict: result.Fail, finding: "L4.put"},
		{name: "an adapter fault", read: func(context.Context) (spi.ReadResult, error) {
			return nil, &spi.Error{Kind: spi.KindInternal, Message: "oops"}
		}, run: func(t *T) { t.Location().MustMiss("k") }, verdict: result.Error, reason: "oops"},
		{name: "trouble", read: func(context.Context) (spi.ReadResult, error) { return nil, targets.Troublef("died") },
			run: func(t *T) { t.Location().MustMiss("k") }, verdict: result.Error, reason: "died"},
		{name: "a panic", run: func(*T) { panic("boom") }, verdict: result.Error, reason: "boom"},
		{name: "silence", read: func(ctx context.Context) (spi.ReadResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, change: func(c *Case, _ *Config) { c.Timeout = 50 * time.Millisecond },
			run: func(t *T) { t.Location().MustMiss("k") }, verdict: result.Error, reason: "no end within 50ms"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Case{ID: "a/b/c", Requirements: []string{"L4.put", "L3.version-fresh", "L6.failure-scope"}, Run: tt.run}
			cfg := config(t, env)
			if tt.read != nil {
				cfg.Target = stubTarget(tt.read)
			}
			if tt.change != nil {
				tt.change(&c, &cfg)
			}
			cfg.Cases = []Case{c}
			got := Run(context.Background(), cfg).Cases[0]
			if got.Verdict != tt.verdict || !strings.Contains(got.Reason, tt.reason) {
				t.Fatalf("got %s %q, want %s %q", got.Verdict, got.Reason, tt.verdict, tt.reason)
			}
			if tt.finding != "" && (len(got.Findings) == 0 || got.Findings[0].Requirement != tt.finding ||
				got.Findings[0].Sentence == "") {
				t.Errorf("findings %+v, want the first to cite %s with its sentence", got.Findings, tt.finding)
			}
		})
	}
}

func TestDeadRedisIsNoVerdict(t *testing.T) {
	env := redistest.Env(t)
	run := Run(context.Background(), config(t, env, Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(t *T) {
		env.Main().Close()
		t.Failf("L4.put", "the provider saw a store failure")
	}}))
	if got := run.Cases[0]; got.Verdict != result.Error || !strings.Contains(got.Reason, "Redis") {
		t.Errorf("got %s %q, want an error that names Redis", got.Verdict, got.Reason)
	}
	if !strings.Contains(run.Interrupted, "stopped answering") || run.ExitStatus() != result.ExitEnvironment {
		t.Errorf("interrupted %q, status %d: want a run that ended for Redis", run.Interrupted, run.ExitStatus())
	}
}

func TestCaseLeavesNoKeyAndTouchesNoOther(t *testing.T) {
	env := redistest.Env(t)
	ctx := context.Background()
	client := redis.NewClient(env.Main().Options())
	t.Cleanup(func() { client.Close() })
	client.Set(ctx, "mine", "1", 0)
	run := Run(ctx, config(t, env, Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(t *T) {
		for _, p := range []string{t.KeyPrefix(), t.NewKeyPrefix("glob*[x]?\\"), t.NewKeyPrefix("é")} {
			t.Redis().Set(t.Context(), p+":k", "1", 0)
		}
		t.Failf("L4.put", "to see the evidence")
	}}))
	if keys := client.Keys(ctx, "*").Val(); len(keys) != 1 || keys[0] != "mine" {
		t.Errorf("keys left: %q, want only the one that was there before", keys)
	}
	if state := run.Cases[0].Evidence.Redis; len(state) != 3 || !strings.Contains(state[0], "string of 1 bytes") {
		t.Errorf("evidence %q, want the case's three keys", state)
	}
}

func TestFailFastStartsNoFurtherCase(t *testing.T) {
	env := redistest.Env(t)
	var cases []Case
	for range 20 {
		cases = append(cases, Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(t *T) { t.Failf("L4.put", "x") }})
	}
	cfg := config(t, env, cases...)
	cfg.Parallel, cfg.FailFast = 1, true
	run := Run(context.Background(), cfg)
	n := result.Counts(run.Cases)
	// One may already have been handed out when the first failure came in.
	if n[result.Fail] > 2 || n[result.Fail]+n[result.Skipped] != 20 || run.ExitStatus() != result.ExitNonconform {
		t.Errorf("counts %v, status %d", n, run.ExitStatus())
	}
}

func TestInterruptKeepsWhatIsFinished(t *testing.T) {
	env := redistest.Env(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	var finished atomic.Int32
	quick := Case{ID: "a/quick", Requirements: []string{"L4.put"}, Run: func(*T) { finished.Add(1) }}
	hang := Case{ID: "a/hang", Requirements: []string{"L4.put"}, Run: func(t *T) {
		t.Await("L4.put", "the quick case", 30*time.Second, func() bool { return finished.Load() == 1 })
		cancel(errors.New("interrupted by a signal"))
		<-t.Context().Done()
		t.Pause(time.Hour)
	}}
	cfg := config(t, env, quick, hang)
	cfg.Parallel = 2
	run := Run(ctx, cfg)
	if run.Cases[0].Verdict != result.Pass || run.Cases[1].Verdict != result.Error || run.ExitStatus() != result.ExitEnvironment {
		t.Errorf("verdicts %s, %s, status %d", run.Cases[0].Verdict, run.Cases[1].Verdict, run.ExitStatus())
	}
	if !strings.Contains(run.Interrupted, "signal") || !strings.Contains(run.Cases[1].Reason, "signal") {
		t.Errorf("interrupted %q, reason %q: want the signal named", run.Interrupted, run.Cases[1].Reason)
	}
}

func TestKeysOfAKilledRunAreRemovedAndNothingElse(t *testing.T) {
	env := redistest.Env(t)
	ctx := context.Background()
	client := redis.NewClient(env.Main().Options())
	t.Cleanup(func() { client.Close() })
	kept := []string{"zlc-0123456789ab", "zlc-0123456789ab-00000001:k", "zlc-notes", "zlc-0123456789abc-00000001", "other"}
	for _, k := range append(kept, "zlc-ffffffffffff-00000001:k", "zlc-ffffffffffff-00000002-extra:{x}") {
		client.Set(ctx, k, "1", 0)
	}
	run := Run(ctx, config(t, env, Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(t *T) {
		if n := client.Exists(ctx, leaseKey(t.run.id)).Val(); n != 1 {
			t.Failf("L4.put", "a running run holds no lease")
		}
	}}))
	if run.Cases[0].Verdict != result.Pass {
		t.Errorf("the case in between: %+v", run.Cases[0])
	}
	left := client.Keys(ctx, "*").Val()
	slices.Sort(left)
	slices.Sort(kept)
	if !slices.Equal(left, kept) {
		t.Errorf("keys left: %q, want %q", left, kept)
	}
}

// A case that breaks in a goroutine of its own shows where, although others
// stopped the case at the same time.
func TestPanicKeepsItsStack(t *testing.T) {
	env := redistest.Env(t)
	run := Run(context.Background(), config(t, env, Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(t *T) {
		t.Concurrently(3, func(i int) {
			if i == 1 {
				breaksHere()
			}
			t.Skipf("no matter")
		})
	}}))
	got := run.Cases[0]
	notes := strings.Join(got.Evidence.Notes, "\n")
	if got.Verdict != result.Error || !strings.Contains(got.Reason, "boom") || !strings.Contains(notes, "breaksHere") {
		t.Errorf("got %s %q, notes %q: want an error with the stack of breaksHere", got.Verdict, got.Reason, notes)
	}
}

func breaksHere() { panic("boom") }

// A scan that is Expired is a finding, unless it took longer than a provider
// must keep it.
func TestScanThatTookTooLongIsNoFinding(t *testing.T) {
	next := spi.Cursor("c")
	c := &T{}
	first := time.Now().Add(-scanMayEnd - time.Second)
	c.followScan(spi.ScanRequest{}, first, spi.Page{Next: &next})
	c.followScan(spi.ScanRequest{Cursor: &next}, time.Now(), spi.Page{Next: &next})
	func() {
		defer func() { _ = recover() }()
		c.followScan(spi.ScanRequest{Cursor: &next}, time.Now(), spi.Expired{})
	}()
	if c.verdict != result.Skipped || !strings.Contains(c.reason, "too slow") {
		t.Errorf("an old scan: %s %q", c.verdict, c.reason)
	}
	c = &T{}
	c.followScan(spi.ScanRequest{}, time.Now(), spi.Page{Next: &next})
	c.followScan(spi.ScanRequest{Cursor: &next}, time.Now(), spi.Expired{})
	if c.verdict != "" {
		t.Errorf("a young scan: %s %q", c.verdict, c.reason)
	}
}
