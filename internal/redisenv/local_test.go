package redisenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startTestEnv starts a local environment that ends with the test.
func startTestEnv(t testing.TB) *Env {
	t.Helper()
	if _, err := FindServer(); err != nil {
		t.Skip("skipped:", err)
	}
	e, err := Start(t.Context(), Options{Mode: ModeLocal, RunID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return e
}

// extra starts a further server; a test that can't have it is skipped with the reason.
func extra(t *testing.T, e *Env, so ServerOptions) *Server {
	t.Helper()
	s, err := e.Extra(t.Context(), so)
	if u, ok := errors.AsType[*Unavailable](err); ok {
		t.Skip("skipped:", u.Reason)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newClient(t testing.TB, o *redis.Options) *redis.Client {
	t.Helper()
	o.MaxRetries = -1
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestLocalServer(t *testing.T) {
	e := startTestEnv(t)
	s := e.Main()
	c := newClient(t, s.Options())
	if got, err := c.Ping(t.Context()).Result(); got != "PONG" {
		t.Fatalf("PING: %q, %v", got, err)
	}
	if !strings.HasPrefix(s.Name(), "local ") || !strings.HasSuffix(s.Name(), " "+s.Version()) {
		t.Errorf("name %q, version %q", s.Name(), s.Version())
	}
	save, err := c.ConfigGet(t.Context(), "save").Result()
	if err != nil || save["save"] != "" {
		t.Errorf("the server would save to disk: %v, %v", save, err)
	}
	dir, err := c.ConfigGet(t.Context(), "dir").Result()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal("close:", err)
		}
	}
	<-s.Done()
	if conn, err := net.Dial("tcp", s.Addr()); err == nil {
		conn.Close()
		t.Error("the port is open after Close")
	}
	if _, err := os.Stat(dir["dir"]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there after Close: %v", err)
	}
}

func TestExtraServers(t *testing.T) {
	e := startTestEnv(t)
	const secret = `pa"ss w@rd/#`
	rows := []struct {
		name  string
		so    ServerOptions
		check func(t *testing.T, s *Server, c *redis.Client)
	}{
		{"cluster", ServerOptions{Cluster: true}, func(t *testing.T, s *Server, c *redis.Client) {
			if err := c.Set(t.Context(), "a", 1, 0).Err(); err != nil {
				t.Error(err)
			}
			if err := c.MGet(t.Context(), "a", "b").Err(); err == nil || !strings.HasPrefix(err.Error(), "CROSSSLOT") {
				t.Errorf("two slots in one command: %v", err)
			}
			checkOneNode(t, s, c)
		}},
		{"password", ServerOptions{Password: secret}, func(t *testing.T, s *Server, c *redis.Client) {
			o := s.Options()
			o.Password = ""
			if err := newClient(t, o).Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
				t.Errorf("without the password: %v", err)
			}
		}},
		{"ACL user", ServerOptions{Username: "tester", Password: secret}, func(t *testing.T, s *Server, c *redis.Client) {
			if who, err := c.Do(t.Context(), "ACL", "WHOAMI").Text(); who != "tester" {
				t.Errorf("user %q, %v", who, err)
			}
			o := s.Options()
			o.Username, o.Password = "", ""
			if err := newClient(t, o).Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
				t.Errorf("the default user: %v", err)
			}
		}},
		{"TLS", ServerOptions{TLS: true, Password: secret}, func(t *testing.T, s *Server, c *redis.Client) {
			if !strings.HasPrefix(s.ConnInfo().URL, "rediss://") {
				t.Error("URL is not rediss://")
			}
			if _, err := os.Stat(s.ConnInfo().CAFile); err != nil {
				t.Error(err)
			}
			o := s.Options()
			o.TLSConfig = nil
			if err := newClient(t, o).Ping(t.Context()).Err(); err == nil {
				t.Error("the server answers without TLS")
			}
		}},
		{"unix socket", ServerOptions{UnixSocket: true}, func(t *testing.T, s *Server, c *redis.Client) {
			o := s.Options()
			o.Network, o.Addr = "unix", s.ConnInfo().Socket
			if err := newClient(t, o).Ping(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}},
		{"further configuration", ServerOptions{Config: []string{"maxmemory 4mb"}},
			func(t *testing.T, s *Server, c *redis.Client) {
				if m, err := c.ConfigGet(t.Context(), "maxmemory").Result(); m["maxmemory"] != "4194304" {
					t.Errorf("maxmemory %v, %v", m, err)
				}
			}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := extra(t, e, row.so)
			c := newClient(t, s.Options())
			if err := c.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(s.Name(), secret) {
				t.Error("the name shows the password")
			}
			if row.so.UnixSocket {
				row.check(t, s, c)
				return
			}
			again, err := connectURL(t.Context(), s.ConnInfo().URL, ServerOptions{})
			if row.so.TLS {
				if err == nil {
					t.Error("a throw-away certificate is trusted without its authority")
				}
			} else if err != nil || again.Version() != s.Version() || again.Kind() != s.Kind() {
				t.Errorf("by URL: %v", err)
			}
			row.check(t, s, c)
		})
	}
}

// checkOneNode checks that the server's one node owns all slots and sends clients to the address that it has here.
func checkOneNode(t *testing.T, s *Server, c *redis.Client) {
	t.Helper()
	shards, err := c.ClusterShards(t.Context()).Result()
	if err != nil || len(shards) != 1 || len(shards[0].Nodes) != 1 {
		t.Fatalf("shards %v, %v", shards, err)
	}
	if r := shards[0].Slots; len(r) != 1 || r[0].Start != 0 || r[0].End != 16383 {
		t.Errorf("slots %v", r)
	}
	if n := shards[0].Nodes[0]; net.JoinHostPort(n.IP, fmt.Sprint(n.Port)) != s.Addr() {
		t.Errorf("the node says it is at %s:%d; server at %s", n.IP, n.Port, s.Addr())
	}
}

func TestClock(t *testing.T) {
	e := startTestEnv(t)
	s := extra(t, e, ServerOptions{Clock: true, InitialSkew: -time.Hour})
	c := newClient(t, s.Options())
	offset := func() time.Duration {
		now, err := c.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(now)
	}
	near := func(want time.Duration) {
		t.Helper()
		if got := offset(); (got - want).Abs() > time.Second {
			t.Errorf("offset %v, want %v", got, want)
		}
	}
	near(-time.Hour)
	if err := c.Set(t.Context(), "k", "v", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	for _, jump := range []time.Duration{-time.Hour + 30*time.Minute, 1500 * time.Millisecond, 24 * time.Hour} {
		if err := s.SetClock(t.Context(), jump); err != nil {
			t.Fatal(err)
		}
		near(jump)
		n, err := c.Exists(t.Context(), "k").Result()
		if want := map[bool]int64{true: 1, false: 0}[jump < 0]; err != nil || n != want {
			t.Errorf("at %v: exists = %d, want %d (%v)", jump, n, want, err)
		}
	}
	for _, ms := range []int64{4102444800999, 4102444801000} {
		if err := s.FreezeClock(t.Context(), ms); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if now, err := c.Time(t.Context()).Result(); err != nil || now.UnixMilli() != ms {
				t.Errorf("frozen at %d, TIME is %d (%v)", ms, now.UnixMilli(), err)
			}
		}
	}
	for _, err := range []error{e.Main().SetClock(t.Context(), 0), e.Main().FreezeClock(t.Context(), 1)} {
		if !isUnavailable(err) {
			t.Errorf("a server without a clock of its own: %v", err)
		}
	}
}

func isUnavailable(err error) bool {
	_, ok := errors.AsType[*Unavailable](err)
	return ok
}

func TestStartErrors(t *testing.T) {
	const secret = "hunter2"
	t.Setenv("PATH", t.TempDir())
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	rows := []struct {
		o    Options
		want []string
	}{
		{Options{}, []string{"Docker", "redis-server", "valkey-server", "--redis redis://"}},
		{Options{Mode: ModeLocal}, []string{"redis-server", "valkey-server"}},
		{Options{Mode: ModeDocker}, []string{"--redis docker", "DOCKER_HOST"}},
		{Options{Mode: "redis://u:" + secret + "@127.0.0.1:1/0"}, []string{"refused", "127.0.0.1:1"}},
		{Options{Mode: "redis://u:" + secret + "@127.0.0.1:x/0"}, []string{"redis://[user:password@]host:port/db"}},
		{Options{Mode: "http://u:" + secret + "@h"}, []string{"redis://[user:password@]host:port/db"}},
		{Options{Mode: "container"}, []string{"auto", "docker", "local"}},
		{Options{Topology: "ring"}, []string{"standalone", "cluster"}},
	}
	for _, row := range rows {
		var log bytes.Buffer
		row.o.Log = &log
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := Start(ctx, row.o)
		cancel()
		if err == nil {
			t.Errorf("%+v started", row.o)
			continue
		}
		for _, w := range row.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q does not say %q", err, w)
			}
		}
		if strings.Contains(err.Error()+log.String(), secret) {
			t.Errorf("the password is in %q or in the log %q", err, log.String())
		}
	}
}
