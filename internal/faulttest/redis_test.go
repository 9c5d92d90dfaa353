//go:build unix

package faulttest

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
)

// A Redis that dies in mid-run ends the run at once; no case is a failure.
func TestRedisDies(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	for _, mode := range []string{"local", "url"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			at := mode
			if mode == "url" {
				s, _ := server(t, redisenv.ServerOptions{})
				at = s.ConnInfo().URL
			}
			r := newRow(t, "--redis", at, "--run", "spi", "--skip", "spi/size").target("kill-redis").run().
				want(3, 0, -1).says("NOT JUDGED: the run ended early: ", "stopped answering")
			if r.took > 30*time.Second {
				t.Errorf("took %v", r.took)
			}
			if r.junit.Skipped < 50 {
				t.Errorf("%d cases were not started, expected most of %d", r.junit.Skipped, r.junit.Tests)
			}
		})
	}
}

// Two runs share a Redis: both judge as if they were alone, nothing is left.
func TestTwoRunsOnOneRedis(t *testing.T) {
	t.Parallel()
	s, c := server(t, redisenv.ServerOptions{})
	const mine = "zlc-not-a-run"
	if err := c.Set(t.Context(), mine, "unchanged", 0).Err(); err != nil {
		t.Fatal(err)
	}
	args := []string{"--redis", s.ConnInfo().URL, "--run", "spi", "--skip", "spi/size", "--run", "redislayout"}
	first, second := newRow(t, args...).start(), newRow(t, args...).start()
	first.wait().want(0, 0, 0)
	second.wait().want(0, 0, 0)
	if left := keys(t, c); !slices.Equal(left, []string{mine}) || c.Get(t.Context(), mine).Val() != "unchanged" {
		t.Errorf("keys left: %q, expected only the one that was there", left)
	}
}

var (
	lease   = regexp.MustCompile(`^zlc-[0-9a-f]{12}$`)
	caseKey = regexp.MustCompile(`^zlc-[0-9a-f]{12}-`)
)

// The keys of a run that was killed are removed by the next run once its lease
// is over, and no others.
func TestKilledRunIsCleanedUpAfter(t *testing.T) {
	t.Parallel()
	s, c := server(t, redisenv.ServerOptions{})
	ctx := context.Background()
	foreign := []string{"other", "zlc-", "zlc-0123456789abcdef", "zlc-notes:0123456789ab-00000000"}
	for _, k := range foreign {
		if err := c.Set(ctx, k, "unchanged", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--redis", s.ConnInfo().URL, "--run", "spi/read"}
	killed := newRow(t, args...).target("hang").start()
	with := func(re *regexp.Regexp) []string {
		return slices.DeleteFunc(keys(t, c), func(k string) bool { return !re.MatchString(k) })
	}
	await(t, "keys of the first run", func() bool { return len(with(caseKey)) > 0 })
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.wait()
	if left := with(caseKey); len(left) == 0 || len(with(lease)) != 1 {
		t.Fatalf("keys of the killed run: %q, leases %q", left, with(lease))
	}
	before := keys(t, c)
	newRow(t, args...).run().want(0, 0, 0)
	if after := keys(t, c); !slices.Equal(before, after) {
		t.Errorf("while the lease holds, the next run changed the keys from %q to %q", before, after)
	}
	c.Del(ctx, with(lease)...) // instead of five minutes
	newRow(t, args...).run().want(0, 0, 0)
	slices.Sort(foreign)
	if left := keys(t, c); !slices.Equal(left, foreign) {
		t.Errorf("keys left: %q, want %q", left, foreign)
	}
	for _, k := range foreign {
		if v := c.Get(ctx, k).Val(); v != "unchanged" {
			t.Errorf("%s now holds %q", k, v)
		}
	}
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 30 s", what)
		}
	}
}

// keyless are the commands that a run may send to a Redis that it shares with
// others: none of them changes data, configuration or other clients.
var keyless = []string{"HELLO", "AUTH", "SELECT", "PING", "ECHO", "INFO", "TIME", "COMMAND", "MULTI", "EXEC", "DISCARD",
	"UNWATCH",
	"CLIENT SETINFO", "CLIENT SETNAME", "CLIENT ID", "CLIENT GETNAME", "CLIENT MAINT_NOTIFICATIONS", "SCRIPT LOAD",
	"SCRIPT EXISTS", "CLUSTER", "READONLY", "ASKING", "QUIT", "MONITOR", "ROLE"}

// A run on a Redis that is not its own touches keys under its own prefix and
// nothing else, also from inside of scripts.
func TestSharedRedisIsTouchedUnderOwnPrefixAlone(t *testing.T) {
	t.Parallel()
	s, c := server(t, redisenv.ServerOptions{})
	ctx := context.Background()
	if err := c.RPush(ctx, "their list", "a", "b").Err(); err != nil {
		t.Fatal(err)
	}
	dump := c.Dump(ctx, "their list").Val()
	var wrong []string
	commands := 0
	stop := monitor(t, s, func(words []string) {
		commands++
		if what := touches(words); what != "" && len(wrong) < 20 {
			wrong = append(wrong, what)
		}
	})
	newRow(t, "--redis", s.ConnInfo().URL, "--skip", "*/size/*", "--skip", "*large*", "--skip", "*chunks").run().want(0, 0, 0)
	stop()
	if len(wrong) > 0 {
		t.Errorf("commands that touch what is not the run's:\n%s", strings.Join(wrong, "\n"))
	}
	t.Logf("%d commands", commands)
	if commands < 10_000 {
		t.Errorf("only %d commands were seen", commands)
	}
	if left := keys(t, c); !slices.Equal(left, []string{"their list"}) || c.Dump(ctx, "their list").Val() != dump {
		t.Errorf("keys left: %q", left)
	}
}

// keysOf are the positions of a command's keys; other commands have their one
// key in front.
var keysOf = map[string]func(words []string) []string{
	"DEL": allKeys, "UNLINK": allKeys, "EXISTS": allKeys, "WATCH": allKeys, "MGET": allKeys, "TOUCH": allKeys,
	"EVAL": numbered, "EVALSHA": numbered, "EVAL_RO": numbered, "EVALSHA_RO": numbered, "FCALL": numbered,
	"MEMORY": func(w []string) []string { return w[2:3] }, "OBJECT": func(w []string) []string { return w[2:3] },
	"RENAME": allKeys, "COPY": func(w []string) []string { return w[1:3] },
}

func allKeys(w []string) []string { return w[1:] }

// numbered are the keys of SCRIPT NUMBER KEY...
func numbered(w []string) []string {
	n := 0
	for _, digit := range w[2] {
		n = n*10 + int(digit-'0')
	}
	return w[3:min(len(w), 3+n)]
}

// touches says what of others the command touches, "" if nothing.
func touches(words []string) string {
	name := strings.ToUpper(words[0])
	two := name
	if len(words) > 1 {
		two += " " + strings.ToUpper(words[1])
	}
	shown := strings.Join(words[:min(len(words), 6)], " ")
	switch {
	case slices.Contains(keyless, name) || slices.Contains(keyless, two):
		return ""
	case name == "SCAN":
		for i, w := range words {
			if strings.EqualFold(w, "MATCH") && strings.HasPrefix(words[i+1], "zlc-") {
				return ""
			}
		}
		return shown
	case len(words) < 2:
		return shown
	}
	of := keysOf[name]
	if of == nil {
		of = func(w []string) []string { return w[1:2] }
	}
	for _, k := range of(words) {
		// A hash tag may stand before the prefix.
		if !strings.HasPrefix(strings.TrimPrefix(k, "{"), "zlc-") {
			return shown
		}
	}
	return ""
}
