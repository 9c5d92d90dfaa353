package redisenv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// rig is a server, a proxy before it, a client through the proxy whose connection is warm, and one around the proxy.
type rig struct {
	p               *Proxy
	through, direct *redis.Client
}

func newRig(t testing.TB, s *Server) *rig {
	t.Helper()
	p, err := NewProxy(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	r := &rig{p: p, through: newClient(t, p.Options()), direct: newClient(t, s.Options())}
	if err := r.through.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// await fails the test when the event does not come.
func await(t testing.TB, what string, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(20 * time.Second):
		t.Fatal("did not happen:", what)
	}
}

func (r *rig) value(t testing.TB, key string) string {
	t.Helper()
	v, err := r.direct.Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return v
}

// later runs f beside the test and returns where its error comes.
func later(f func() error) <-chan error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}

func TestProxyPassesEverything(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	ctx := t.Context()
	for _, size := range []int{0, 1, bufSize - 1, bufSize, bufSize + 1, maxHeadArg, maxHeadArg + 1, 5 << 20} {
		want := bytes.Repeat([]byte("\r\n$7*"), size/5+1)[:size]
		key := fmt.Sprint("pass:", size)
		if err := r.through.Set(ctx, key, want, 0).Err(); err != nil {
			t.Fatal(size, err)
		}
		for name, c := range map[string]*redis.Client{"proxy": r.through, "direct": r.direct} {
			if got, err := c.Get(ctx, key).Bytes(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes by %s: %d bytes, %v", size, name, len(got), err)
			}
		}
	}
	// A key long enough to be passed on unread, a pipeline, a transaction and a script.
	long := strings.Repeat("k", maxHeadArg+1)
	pipe := r.through.TxPipeline()
	set := pipe.Set(ctx, long, "v", 0)
	hash := pipe.HSet(ctx, "pass:hash", "a", 1, "b", 2)
	all := pipe.HGetAll(ctx, "pass:hash")
	ev := pipe.Eval(ctx, "return {ARGV[1], {1, false}, redis.error_reply('x')}", []string{"k"}, "arg")
	_, _ = pipe.Exec(ctx)
	if set.Val() != "OK" || hash.Val() != 2 || fmt.Sprint(all.Val()) != "map[a:1 b:2]" || len(ev.Val().([]any)) != 3 {
		t.Error(set, hash, all, ev)
	}
	if n, err := r.direct.Del(ctx, long, "pass:hash").Result(); n != 2 || err != nil {
		t.Error(n, err)
	}
	// Pushes of RESP3 come between the replies.
	sub := r.through.Subscribe(ctx, "channel")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := r.through.Publish(ctx, "channel", "hello").Result(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "hello" {
		t.Fatal(m, err)
	}
}

func TestProxyLog(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	ctx := t.Context()
	if cs := r.p.CommandsSince(0); len(cs) != 0 {
		t.Errorf("the handshake counts as commands: %v", cs)
	}
	m := r.p.Mark()
	r.through.Set(ctx, "log:a", strings.Repeat("v", 100_000), 0)
	r.through.Eval(ctx, "return 1", []string{"log:b", "log:c"}, "arg")
	r.through.Eval(ctx, "return 1", nil, "arg")
	r.through.Time(ctx)
	got := ""
	for _, c := range r.p.CommandsSince(m) {
		got += fmt.Sprintf("%s %q %v; ", c.Name, c.Key, c.Forwarded)
	}
	want := `SET "log:a" true; EVAL "log:b" true; EVAL "" true; TIME "" true; `
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if size := r.p.CommandsSince(m)[0].Size; size < 100_000 || size > 100_100 {
		t.Errorf("size %d", size)
	}
	if open, total := r.p.Connections(); open != 1 || total != 1 {
		t.Errorf("%d open, %d in all", open, total)
	}
}

func TestProxyFaults(t *testing.T) {
	s := startTestEnv(t).Main()
	timedOut := func(err error) bool {
		var n net.Error
		return errors.As(err, &n) && n.Timeout()
	}
	ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
	// go-redis peeks at the connection, which takes the reset from the socket: it may then read an end.
	reset := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) || ended(err) }
	says := func(text string) func(error) bool {
		return func(err error) bool { return err != nil && err.Error() == text }
	}
	rows := []struct {
		name   string
		match  Match
		action Action
		is     func(error) bool
		lands  bool // the SET is executed
		times  bool // the client runs into its read timeout
	}{
		{"cut", On("SET"), Cut(), reset, false, false},
		{"swallow", On("set"), Swallow(), timedOut, false, true},
		{"silence", Everything(), Swallow(), timedOut, false, true},
		{"error reply", On("SET"), Answer("-OOM no memory"), says("OOM no memory"), false, false},
		{"reply dropped", On("SET"), DropReply(), ended, true, false},
		{"reset at the reply", On("SET"), ResetAtReply(), reset, true, false},
		{"cut in the reply", On("SET"), CutInReply(3), ended, true, false},
		{"cut before the reply's first byte", On("SET"), CutInReply(0), ended, true, false},
		{"reply held", On("SET"), HoldReply(), timedOut, true, true},
		{"held", On("SET"), Hold(), timedOut, false, true},
		{"by key", On().WithKey("fault"), Cut(), reset, false, false},
		{"by another key", On("SET").WithKey("elsewhere"), Cut(), func(err error) bool { return err == nil }, true, false},
		{"delayed within the limit", On("SET"), Delay(50 * time.Millisecond), func(err error) bool { return err == nil }, true,
			false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, s)
			o := r.p.Options()
			o.ReadTimeout = 20 * time.Second
			if row.times {
				o.ReadTimeout = time.Second
			}
			c := newClient(t, o)
			key := "fault:" + strings.ReplaceAll(row.name, " ", "-")
			if err := c.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			f := r.p.Arm(row.match, row.action)
			m := r.p.Mark()
			err := c.Set(t.Context(), key, "v", 0).Err()
			if !row.is(err) {
				t.Errorf("error %T %v", err, err)
			}
			if row.match.Key != "elsewhere" {
				await(t, "the fault fires", f.Fired())
			}
			if got := r.value(t, key) == "v"; got != row.lands {
				t.Errorf("executed: %v, want %v", got, row.lands)
			}
			cs := r.p.CommandsSince(m)
			if len(cs) != 1 || cs[0].Key != key || cs[0].Forwarded != row.lands {
				t.Errorf("log %+v", cs)
			}
			// After a reset the same client works again, on a new connection where the old one is lost.
			if err := r.p.Reset(); err != nil {
				t.Fatal(err)
			}
			for try := 0; ; try++ {
				err := c.Set(t.Context(), key, "again", 0).Err()
				if err == nil {
					break
				}
				if try == 3 {
					t.Fatal("no recovery:", err)
				}
			}
		})
	}
}

// A cut is a reset on the wire, and a dropped reply an end.
func TestProxyWire(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	for _, row := range []struct {
		action Action
		want   string
		is     error
	}{
		{Cut(), "", syscall.ECONNRESET},
		{DropReply(), "", io.EOF},
		{CutInReply(3), "$5\r", io.EOF},
		{Answer("LOADING wait"), "-LOADING wait\r\n", nil},
	} {
		c, err := net.Dial("tcp", r.p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		f := r.p.Arm(On("SET"), row.action)
		if _, err := io.WriteString(c, "*4\r\n$3\r\nSET\r\n$4\r\nwire\r\n$5\r\nvalue\r\n$3\r\nGET\r\n"); err != nil {
			t.Fatal(err)
		}
		await(t, "the fault fires", f.Fired())
		got := make([]byte, max(len(row.want), 1))
		n, err := io.ReadFull(c, got[:max(len(row.want), 1)])
		if n == len(row.want) && row.is != nil && n > 0 {
			_, err = c.Read(make([]byte, 1))
		}
		if string(got[:n]) != row.want || !errors.Is(err, row.is) {
			t.Errorf("%q, %v; want %q, %v", got[:n], err, row.want, row.is)
		}
		if err := r.p.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProxyNth(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	ctx := t.Context()
	r.p.Arm(On("INCR").Number(3), Answer("BUSY"))
	var got []string
	for range 4 {
		got = append(got, fmt.Sprint(r.through.Incr(ctx, "nth").Err()))
		r.through.Get(ctx, "nth")
	}
	if s := strings.Join(got, " "); s != "<nil> <nil> BUSY <nil>" {
		t.Error(s)
	}
	if v := r.value(t, "nth"); v != "3" {
		t.Error("executed", v)
	}
}

// In a pipeline the proxy's own reply stands at its place, and a cut spares the commands before it.
func TestProxyPipeline(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	ctx := t.Context()
	run := func() string {
		pipe := r.through.Pipeline()
		var cmds []*redis.IntCmd
		for range 4 {
			cmds = append(cmds, pipe.Incr(ctx, "pipe"))
		}
		_, _ = pipe.Exec(ctx)
		out := ""
		for _, c := range cmds {
			switch {
			case c.Err() == nil:
				out += fmt.Sprint(c.Val(), " ")
			case strings.HasPrefix(c.Err().Error(), "NOREPLICAS"):
				out += "NOREPLICAS "
			default:
				out += "lost "
			}
		}
		return out
	}
	r.p.Arm(On("INCR").Number(2), Answer("NOREPLICAS too few"))
	if got := run(); got != "1 NOREPLICAS 2 3 " {
		t.Error(got)
	}
	if err := r.p.Reset(); err != nil {
		t.Fatal(err)
	}
	r.p.Arm(On("INCR").Number(3), Cut())
	if got := run(); !strings.HasSuffix(got, "lost lost ") {
		t.Error(got)
	}
	if v := r.value(t, "pipe"); v != "5" {
		t.Error("executed", v)
	}
}

func TestProxyHold(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	ctx := t.Context()
	t.Run("between two commands", func(t *testing.T) {
		f := r.p.Arm(On("GET").Number(2), Hold())
		if err := r.direct.Set(ctx, "hold", "old", 0).Err(); err != nil {
			t.Fatal(err)
		}
		var first, second string
		err := later(func() error {
			first = r.through.Get(ctx, "hold").Val()
			second = r.through.Get(ctx, "hold").Val()
			return nil
		})
		await(t, "the second GET is held", f.Fired())
		if err := r.direct.Set(ctx, "hold", "new", 0).Err(); err != nil {
			t.Fatal(err)
		}
		f.Release()
		<-err
		if first != "old" || second != "new" {
			t.Error(first, second)
		}
	})
	t.Run("a write lands after its client has gone", func(t *testing.T) {
		f := r.p.Arm(On("SET").WithKey("late"), Hold())
		c := redis.NewClient(r.p.Options())
		err := later(func() error { return c.Set(ctx, "late", "v", 0).Err() })
		await(t, "the SET is held", f.Fired())
		c.Close()
		if e := <-err; e == nil {
			t.Error("the client saw a success")
		}
		if v := r.value(t, "late"); v != "" {
			t.Error("executed before the release")
		}
		f.Release()
		if e := poll(ctx, 20*time.Second, func() (bool, error) { return r.value(t, "late") == "v", nil }); e != nil {
			t.Error("the write did not land:", e)
		}
	})
}

func TestProxyKeepsItsPort(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	r.p.Refuse()
	r.p.CutAll()
	local, err := net.ResolveTCPAddr("tcp", r.p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	// As the system does for a client that names no port, only with this one.
	thief := net.Dialer{LocalAddr: local}
	if c, err := thief.DialContext(t.Context(), "tcp", startTestEnv(t).Main().Addr()); err == nil {
		c.Close()
		t.Error("a refusing proxy's port was given to somebody else")
	}
}

// The port may be held for a moment, as by a process that is being started.
func TestProxyAwaitsItsPort(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	r.p.Refuse()
	l, err := net.Listen("tcp", r.p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { l.Close() })
	if err := r.p.Reset(); err != nil {
		t.Fatal(err)
	}
	if err := newClient(t, r.p.Options()).Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func TestProxyConnections(t *testing.T) {
	r := newRig(t, startTestEnv(t).Main())
	ctx := t.Context()
	fresh := func() error { return newClient(t, r.p.Options()).Ping(ctx).Err() }
	r.p.Refuse()
	if err := fresh(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error("refuse:", err)
	}
	if err := r.through.Ping(ctx).Err(); err != nil {
		t.Error("an open connection does not live on:", err)
	}
	if err := r.p.Reset(); err != nil {
		t.Fatal(err)
	}
	if err := fresh(); err != nil {
		t.Error("after the reset:", err)
	}
	r.p.Arm(Connecting(), Cut())
	if err := fresh(); err == nil {
		t.Error("a new connection was not cut")
	}
	if err := r.p.Reset(); err != nil {
		t.Fatal(err)
	}
	r.p.Arm(Connecting(), Answer("ERR max number of clients reached"))
	// go-redis takes an error to its HELLO for an old server and goes on, so this looks at the wire.
	raw, err := net.Dial("tcp", r.p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if got, err := io.ReadAll(raw); string(got) != "-ERR max number of clients reached\r\n" || err != nil {
		t.Errorf("an error reply to a new connection: %q, %v", got, err)
	}
	if err := r.p.Reset(); err != nil {
		t.Fatal(err)
	}
	r.p.Arm(Connecting().Number(1), Delay(100*time.Millisecond))
	begin := time.Now()
	if err := fresh(); err != nil {
		t.Error(err)
	}
	if d := time.Since(begin); d < 100*time.Millisecond {
		t.Errorf("connected after %v", d)
	}
	r.p.CutAll()
	if err := poll(ctx, 20*time.Second, func() (bool, error) {
		open, _ := r.p.Connections()
		return open == 0,
			nil
	}); err != nil {
		t.Error("connections are open after CutAll")
	}
	for range 2 {
		if err := r.p.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := fresh(); err == nil {
		t.Error("the proxy serves after Close")
	}
}

func TestProxyRepliesOfEveryType(t *testing.T) {
	whole := []string{
		"+OK\r\n", "-ERR x\r\n", ":1\r\n", "_\r\n", ",1.5\r\n", "#t\r\n", "(123456789\r\n",
		"$5\r\na\r\n*b\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "=7\r\ntxt:abc\r\n", "!5\r\nERR x\r\n",
		"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n", "~1\r\n+a\r\n", "%1\r\n+k\r\n%1\r\n+a\r\n:2\r\n", ">2\r\n+message\r\n+x\r\n",
		"|1\r\n+ttl\r\n:3\r\n$1\r\nv\r\n", "*?\r\n:1\r\n*?\r\n.\r\n.\r\n", "%?\r\n+a\r\n:1\r\n.\r\n",
		"$?\r\n;4\r\nabcd\r\n;1\r\ne\r\n;0\r\n",
	}
	// The frames stand in one stream: each must end where the next one begins.
	s := sourceOf(strings.Join(whole, ""))
	for _, want := range whole {
		var got bytes.Buffer
		if err := s.copyReply(&got); err != nil || got.String() != want {
			t.Fatalf("got %q, want %q: %v", &got, want, err)
		}
	}
	for _, bad := range []string{"?1\r\n", "$x\r\n", "+\n", "*1\r\n", "$3\r\nab", "$?\r\n+a\r\n"} {
		if err := sourceOf(bad).copyReply(io.Discard); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// BenchmarkSet64MiB compares a value of 64 MiB with and without the proxy; the proxy may cost half as much again.
func BenchmarkSet64MiB(b *testing.B) {
	r := newRig(b, startTestEnv(b).Main())
	value := make([]byte, 64<<20)
	for name, c := range map[string]*redis.Client{"direct": r.direct, "proxy": r.through} {
		b.Run("set/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				if err := c.Set(context.Background(), "large", value, 0).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("get/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				if err := c.Get(context.Background(), "large").Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	r.direct.Del(context.Background(), "large")
}

func sourceOf(text string) *source {
	return &source{br: bufio.NewReaderSize(strings.NewReader(text), bufSize)}
}
