package harness

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// untouched is a run that must end before its one case.
func untouched(t *testing.T, env *redisenv.Env, says string) {
	t.Helper()
	run := Run(t.Context(), config(t, env, Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(*T) {
		t.Error("the case ran")
	}}))
	if run.Interrupted != env.Main().Name()+" can't be used: "+says {
		t.Errorf("got %q, want %q", run.Interrupted, says)
	}
	if got := run.ExitStatus(); got != result.ExitEnvironment {
		t.Errorf("exit status %d", got)
	}
	if got := run.Cases[0].Verdict; got != result.Skipped {
		t.Errorf("verdict %s", got)
	}
}

// What the run's user may not do is not blamed on the provider.
func TestMissingPermissions(t *testing.T) {
	env := redistest.Env(t)
	for rules, says := range map[string]string{
		"~* -@scripting":          "its user may not run EVAL, EVALSHA",
		"~* -zadd":                "its user may not run ZADD",
		"~* -pexpiretime -unlink": "its user may not run PEXPIRETIME, UNLINK",
		"%R~zlc-* -@hash": "its user may not run HSET, HGET, HMGET, HLEN, HDEL; " +
			"its user may not use keys that start with zlc- in " +
			"EVAL, EVALSHA, SET, INCRBY, PEXPIRE, PEXPIREAT, DEL, ZADD, ZREM, ZREMRANGEBYRANK, ZREMRANGEBYSCORE, UNLINK",
		"~zlc-* -@admin -@dangerous +info": "",
	} {
		t.Run(rules, func(t *testing.T) {
			s := extra(t, env, redisenv.ServerOptions{Config: []string{"user weak on >secret +@all " + rules}})
			c := redis.NewClient(s.Options())
			defer c.Close()
			u, err := url.Parse(s.ConnInfo().URL)
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword("weak", "secret")
			weak, err := redisenv.Start(t.Context(), redisenv.Options{Mode: u.String()})
			if err != nil {
				t.Fatal(err)
			}
			defer weak.Close()
			if says != "" {
				untouched(t, weak, "every run needs more: "+says)
			} else {
				run := Run(t.Context(), config(t, weak, Case{ID: "a/b", Requirements: []string{"L4.put"}, Run: func(*T) {}}))
				if run.Interrupted != "" || run.Cases[0].Verdict != result.Pass {
					t.Errorf("got %q, %s", run.Interrupted, run.Cases[0].Verdict)
				}
			}
			if left := c.Keys(t.Context(), "*").Val(); len(left) > 0 {
				t.Errorf("keys left: %q", left)
			}
		})
	}
}

// A command that a server has under another name is as good as none.
func TestMissingCommand(t *testing.T) {
	s := extra(t, redistest.Env(t), redisenv.ServerOptions{Config: []string{"rename-command HMGET other"}})
	untouched(t, external(t, s), "every run needs more: it does not know HMGET")
}

// An old Redis is not blamed on the provider.
func TestOldRedis(t *testing.T) {
	for version, says := range map[string]string{
		"2.8.24": "Redis 7.0 or newer is needed, and this is 2.8.24",
		"6.2.14": "Redis 7.0 or newer is needed, and this is 6.2.14",
		"7.0.0":  "every run needs more: it does not know EVAL, ",
		"10.0.1": "every run needs more: it does not know EVAL, ",
		"":       "every run needs more: it does not know EVAL, ",
	} {
		t.Run(version, func(t *testing.T) {
			env, err := redisenv.Start(t.Context(), redisenv.Options{Mode: "redis://" + infoOnly(t, version)})
			if err != nil {
				t.Fatal(err)
			}
			defer env.Close()
			run := Run(t.Context(), config(t, env))
			if !strings.Contains(run.Interrupted, says) || run.ExitStatus() != result.ExitEnvironment {
				t.Errorf("got %q and exit status %d, want %q", run.Interrupted, run.ExitStatus(), says)
			}
		})
	}
}

// infoOnly is a server of the given version that knows no command but INFO.
func infoOnly(t *testing.T, version string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					name, err := nextCommand(r)
					if err != nil {
						return
					}
					answer := "-ERR unknown command '" + name + "'\r\n"
					if strings.EqualFold(name, "INFO") {
						text := "# Server\r\nredis_version:" + version + "\r\n"
						answer = fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
					}
					if _, err := io.WriteString(c, answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// nextCommand reads a command and returns its name.
func nextCommand(r *bufio.Reader) (name string, err error) {
	number := func() (n int, err error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	words, err := number()
	for i := 0; i < words && err == nil; i++ {
		size, bad := number()
		word := make([]byte, size+2)
		if err = bad; err == nil {
			_, err = io.ReadFull(r, word)
		}
		if i == 0 {
			name = string(word[:size])
		}
	}
	return name, err
}
