package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func TestMain(m *testing.M) {
	logging.Disable() // refused connections are what some tests are about
	os.Exit(m.Run())
}

// external is an environment for a server given by URL, which the harness
// shares with others.
func external(t *testing.T, s *redisenv.Server) *redisenv.Env {
	t.Helper()
	env, err := redisenv.Start(t.Context(), redisenv.Options{Mode: s.ConnInfo().URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.Close() })
	return env
}

func extra(t *testing.T, env *redisenv.Env, o redisenv.ServerOptions) *redisenv.Server {
	t.Helper()
	s, err := env.Extra(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A Redis that comes back empty in mid-run is no fault of the target.
func TestRestartedRedisIsNoVerdict(t *testing.T) {
	env := redistest.Env(t)
	first := extra(t, env, redisenv.ServerOptions{})
	run := Run(t.Context(), config(t, external(t, first), Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(c *T) {
		first.Close()
		again := exec.Command("redis-server", "--port", strconv.Itoa(first.ConnInfo().Port), "--bind", "127.0.0.1", "--save", "")
		again.Dir = t.TempDir()
		if err := again.Start(); err != nil {
			c.Skipf("needs redis-server on PATH: %v", err)
		}
		t.Cleanup(func() { again.Process.Kill(); again.Wait() })
		c.Await("L4.put", "the second start", 20*time.Second, func() bool { return c.Redis().Ping(c.Context()).Err() == nil })
		c.Failf("L4.put", "the record is gone")
	}}))
	got := run.Cases[0]
	if got.Verdict == result.Skipped {
		t.Skip(got.Reason)
	}
	if got.Verdict != result.Error || !strings.Contains(got.Reason, "restarted or replaced") {
		t.Errorf("got %s %q, want an error that says so", got.Verdict, got.Reason)
	}
	if !strings.Contains(run.Interrupted, "restarted or replaced") || run.ExitStatus() != result.ExitEnvironment {
		t.Errorf("interrupted %q, status %d", run.Interrupted, run.ExitStatus())
	}
}

// What a Redis in trouble does to a provider is no verdict on the provider.
func TestTroubledRedisIsNoVerdict(t *testing.T) {
	env := redistest.Env(t)
	set := func(c *T, name, value string) { c.Redis().ConfigSet(c.Context(), name, value) }
	write := func(c *T) { c.Redis().Set(c.Context(), c.KeyPrefix()+":k", strings.Repeat("v", 1<<20), 0) }
	for _, tt := range []struct {
		name, want string
		config     []string
		trouble    func(c *T)
	}{
		{"full", "OOM", nil, func(c *T) { set(c, "maxmemory", "1"); write(c) }},
		{"evicting", "evicted", []string{"maxmemory-policy allkeys-lru"}, func(c *T) {
			write(c)
			set(c, "maxmemory", "1")
			c.Redis().Set(c.Context(), c.KeyPrefix()+":l", "v", 0)
		}},
		{"without replicas", "NOREPLICAS", nil, func(c *T) { set(c, "min-replicas-to-write", "1"); write(c) }},
		{"a replica", "READONLY", nil, func(c *T) { c.Redis().Do(c.Context(), "REPLICAOF", "127.0.0.1", "1"); write(c) }},
		{"asks for a password", "NOAUTH", nil, func(c *T) { set(c, "requirepass", "other") }},
		{"too few clients", "maxclients", nil, func(c *T) {
			set(c, "maxclients", "1")
			other := redis.NewClient(c.MainServer().Options())
			defer other.Close()
			other.Ping(c.Context())
			set(c, "maxclients", "1000")
		}},
		{"in a script", "OOM", nil, func(c *T) {
			set(c, "maxmemory", "1")
			c.Redis().Eval(c.Context(), "return redis.call('SET', KEYS[1], 'v')", []string{c.KeyPrefix() + ":k"})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := extra(t, env, redisenv.ServerOptions{Config: tt.config})
			run := Run(t.Context(), config(t, external(t, s), Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(c *T) {
				tt.trouble(c)
				c.Failf("L4.put", "the provider failed")
			}}))
			if got := run.Cases[0]; got.Verdict != result.Error || !strings.Contains(got.Reason, tt.want) {
				t.Errorf("got %s %q, want an error that says %s", got.Verdict, got.Reason, tt.want)
			}
			if !strings.Contains(run.Interrupted, tt.want) || run.ExitStatus() != result.ExitEnvironment {
				t.Errorf("interrupted %q, status %d", run.Interrupted, run.ExitStatus())
			}
		})
	}
}

// Keys that can't be removed are not left without a word.
func TestKeysThatStayAreNamed(t *testing.T) {
	env := redistest.Env(t)
	s := extra(t, env, redisenv.ServerOptions{})
	var prefix string
	run := Run(t.Context(), config(t, external(t, s), Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(c *T) {
		prefix = c.KeyPrefix()[:len("zlc-0123456789ab-")]
		c.Redis().Set(c.Context(), c.KeyPrefix()+":k", "v", 0)
		c.Redis().Do(c.Context(), "REPLICAOF", "127.0.0.1", "1")
	}}))
	if !strings.Contains(run.Interrupted, prefix) || !strings.Contains(run.Interrupted, "READONLY") ||
		run.ExitStatus() != result.ExitEnvironment {
		t.Errorf("interrupted %q, status %d: want the keys that start with %q and the reason", run.Interrupted, run.ExitStatus(),
			prefix)
	}
}

// A run that is interrupted while it starts gives its lease back.
func TestInterruptAtTheStartLeavesNoLease(t *testing.T) {
	env := redistest.Env(t)
	client := redis.NewClient(env.Main().Options())
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &runner{id: "0123456789ab", client: client, config: Config{Env: env}}
	client.AddHook(afterSet{func() { cancel(errors.New("a signal")) }})
	if release, err := r.begin(ctx); err == nil {
		_ = release()
		t.Fatal("begin did not notice that the context ended")
	}
	if keys := client.Keys(context.Background(), "*").Val(); len(keys) != 0 {
		t.Errorf("keys left: %q", keys)
	}
}

// afterSet calls f after each SET.
type afterSet struct{ f func() }

func (afterSet) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h afterSet) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "set" {
			h.f()
		}
		return err
	}
}
func (afterSet) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// What an abandoned operation writes after its case was cleaned up is removed
// at the end of the run.
func TestLateWriteIsRemoved(t *testing.T) {
	env := redistest.Env(t)
	client := redis.NewClient(env.Main().Options())
	t.Cleanup(func() { client.Close() })
	prefix, over := make(chan string, 1), make(chan struct{})
	cfg := config(t, env,
		Case{ID: "a/first", Requirements: []string{"L4.put"}, Run: func(t *T) { prefix <- t.KeyPrefix() }},
		Case{ID: "a/second", Requirements: []string{"L4.put"}, Run: func(t *T) {
			<-over
			client.Set(t.Context(), <-prefix+":late", "1", 0)
		}})
	cfg.Done = func(c result.Case) {
		if c.ID == "a/first" {
			close(over)
		}
	}
	if run := Run(t.Context(), cfg); run.ExitStatus() != result.ExitConforms {
		t.Fatalf("the run: %+v", run)
	}
	if keys := client.Keys(context.Background(), "*").Val(); len(keys) != 0 {
		t.Errorf("keys left: %q", keys)
	}
}

// A target's text is bounded and shows no password of Redis, in whatever form
// a URL, a log or a Go error holds it.
func TestEvidenceIsBoundedAndMasked(t *testing.T) {
	const secret = `s3cr"t/ü&%`
	env := redistest.Env(t)
	protected := extra(t, env, redisenv.ServerOptions{Username: "judge", Password: secret})
	huge := strings.Repeat("x", 1<<20)
	cfg := config(t, external(t, protected), Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(t *T) {
		for range 100 {
			t.Notef("%s %s", protected.ConnInfo().URL, huge)
		}
		_, err := t.Location().Read(t.Context(), "k")
		t.Failf("L4.put", "the error is %v", err)
		t.Failf("L4.put", "quoted %q", secret)
		t.Equal("L4.put", "x", secret, "y")
	}})
	cfg.Target = stubTarget(func(context.Context) (spi.ReadResult, error) {
		return nil, &spi.Error{Kind: spi.KindStoreFailure,
			Message: "no answer from " + protected.ConnInfo().URL + " " + secret + huge}
	})
	c := Run(t.Context(), cfg).Cases[0]
	all := fmt.Sprintf("%+v", c)
	for _, form := range []string{secret, `s3cr\"t/ü&%`, "s3cr%22t", `s3cr`} {
		if strings.Contains(all, form) {
			t.Errorf("the case shows the password as %s", form)
		}
	}
	if !strings.Contains(all, "judge:xxxxx@") || len(c.Findings) != 3 {
		t.Errorf("the evidence is gone: %+v", c.Findings)
	}
	if len(all) > 256<<10 {
		t.Errorf("the case holds %d bytes", len(all))
	}
}
