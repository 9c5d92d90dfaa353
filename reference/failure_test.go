package reference_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// silent accepts connections and never answers. accepted gets one entry for
// each connection.
func silent(t *testing.T) (options *redis.Options, accepted <-chan net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 16)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns <- conn
			wg.Go(func() {
				io.Copy(io.Discard, conn)
				conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		for len(conns) > 0 {
			(<-conns).Close()
		}
		wg.Wait()
	})
	return &redis.Options{Addr: listener.Addr().String()}, conns
}

// R5.timeout, L6.cancel-before: connecting and command together, and each kind
// of end is told apart.
func TestTimeoutAndCancellation(t *testing.T) {
	server, accepted := silent(t)
	l := openLocation(t, reference.Options{Redis: server, OperationTimeout: 200 * time.Millisecond})
	began := time.Now()
	_, err := l.Read(context.Background(), "k")
	wantKind(t, err, spi.KindTimeout)
	if took := time.Since(began); took < 200*time.Millisecond || took > 5*time.Second {
		t.Errorf("the operation took %v, want about 200ms", took)
	}
	(<-accepted).Close()

	done, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = l.Write(done, spi.WriteRequest{})
	wantKind(t, err, spi.KindCancelled)
	bogus := spi.Cursor("x")
	_, err = l.Scan(done, spi.ScanRequest{Limit: 1, Cursor: &bogus})
	wantKind(t, err, spi.KindCancelled)

	patient := openRelocation(t, reference.Options{Redis: server, OperationTimeout: time.Hour})
	during, cancel := context.WithCancel(context.Background())
	go func() {
		(<-accepted).Close() // the write that was cancelled before never connected
	}()
	_, err = patient.Read(during, "r") // ends because the connection is cut
	wantKind(t, err, spi.KindStoreFailure)
	payload := make([]byte, 64<<20) // more than any socket buffers
	result := make(chan error)
	go func() {
		_, err := patient.Put(during, "r", payload, 1000)
		result <- err
	}()
	<-accepted
	cancel()
	wantKind(t, <-result, spi.KindCancelled)
	copy(payload, "the buffer is the caller's again") // a race here is found by the detector
}

func TestTimeoutCoversConnecting(t *testing.T) {
	stuck := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	l := openLocation(t, reference.Options{Redis: &redis.Options{Dialer: stuck}, OperationTimeout: 50 * time.Millisecond})
	_, err := l.Read(context.Background(), "k")
	wantKind(t, err, spi.KindTimeout)
}

// L6.recover: a first failed connect, lost idle connections and forgotten
// scripts do not poison an instance.
func TestRecovers(t *testing.T) {
	server := redistest.Start(t)
	var refuse atomic.Bool
	refuse.Store(true)
	options := *server
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if refuse.Load() {
			return nil, &net.OpError{Op: "dial", Err: os.ErrPermission}
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	f := start(t, &options)
	f.redis = redistest.Client(t, server)
	for range 3 {
		_, err := f.location.Read(context.Background(), "k")
		wantKind(t, err, spi.KindStoreFailure)
	}
	refuse.Store(false)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { f.put("k", "v") })
	}
	wg.Wait()
	if err := f.redis.ScriptFlush(context.Background()).Err(); err != nil {
		t.Error(err)
	}
	f.put("k", "w")
	if got := f.redis.Get(context.Background(), layout.SequenceKey(prefix)).Val(); got != "17" {
		t.Errorf("17 puts moved the sequence to %s", got)
	}
	for _, client := range strings.Split(strings.TrimSpace(f.redis.ClientList(context.Background()).Val()), "\n") {
		id, _, _ := strings.Cut(strings.TrimPrefix(client, "id="), " ")
		f.redis.ClientKillByFilter(context.Background(), "ID", id, "SKIPME", "yes")
	}
	for range 20 {
		if got := f.value("k"); got != "w" {
			t.Errorf("got %q", got)
		}
	}
}

// L6.failure-class, and nothing is applied in part.
func TestServerRefuses(t *testing.T) {
	ctx := context.Background()
	for name, arguments := range map[string][]string{
		"out of memory": {"maxmemory", "1"},
		"replicas":      {"min-replicas-to-write", "1"},
		"password":      {"requirepass", "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			f := start(t, server)
			f.put("a", "v")
			f.put("deleted", "v")
			f.apply(spi.Delete{Key: "deleted"})
			f.due(ns)
			before := f.redis.Dump(ctx, layout.RecordKey(prefix, "a")).Val()
			f.redis.ConfigSet(ctx, arguments[0], arguments[1])
			l := openLocation(t, f.options)
			r := openRelocation(t, f.options)

			_, err := l.Write(ctx, spi.WriteRequest{
				Mutations: []spi.Mutation{spi.Delete{Key: "a"}, spi.Put{Key: "b", Bytes: []byte("v")}}})
			wantKind(t, err, spi.KindStoreFailure)
			_, err = r.Put(ctx, "r", []byte("v"), 1000)
			wantKind(t, err, spi.KindStoreFailure)
			if _, err := l.Scan(ctx, spi.ScanRequest{Limit: 10}); (err == nil) != (name != "password") {
				t.Errorf("a scan answers %v", err)
			}
			if f.redis.Dump(ctx, layout.RecordKey(prefix, "a")).Val() != before || f.redis.Get(ctx, ns+"sequence").Val() != "3" {
				t.Error("a refused write changed something")
			}
			if name == "password" {
				secured := *server
				secured.Password = "secret"
				f.location = openLocation(t, reference.Options{Redis: &secured, KeyPrefix: prefix})
				if got := f.value("a"); got != "v" {
					t.Errorf("with the password: %q", got)
				}
			}
		})
	}
}

// L7.dispose, R7.shared, L10.two-stores.
func TestClose(t *testing.T) {
	f := start(t, redistest.Start(t))
	r := openRelocation(t, reference.Options{Share: f.location, KeyPrefix: prefix})
	f.put("k", "v")
	if _, err := r.Put(context.Background(), "r", []byte("v"), 60000); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := f.location.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := f.location.Read(context.Background(), "k")
	wantKind(t, err, spi.KindStoreFailure)
	if result, err := r.Read(context.Background(), "r"); err != nil {
		t.Errorf("closing one store broke the other: %v", err)
	} else if _, ok := result.(spi.BlobFound); !ok {
		t.Errorf("got %T", result)
	}
	l := openLocation(t, reference.Options{Share: r, KeyPrefix: prefix})
	if _, err := l.Read(context.Background(), "k"); err != nil {
		t.Error(err)
	}
	r.Close()
	l.Close()
	_, err = reference.OpenLocation(reference.Options{Share: r})
	wantKind(t, err, spi.KindArgument)
}

func TestCloseDuringWork(t *testing.T) {
	f := start(t, redistest.Start(t))
	var wg sync.WaitGroup
	working := make(chan struct{}, 8)
	for range cap(working) {
		wg.Go(func() {
			for first := true; ; first = false {
				_, err := f.location.Write(context.Background(), spi.WriteRequest{Mutations: []spi.Mutation{spi.Put{Key: "k"}}})
				if first {
					working <- struct{}{}
				}
				if err != nil {
					wantKind(t, err, spi.KindStoreFailure)
					return
				}
			}
		})
	}
	for range cap(working) {
		<-working
	}
	f.location.Close()
	f.location.Close()
	wg.Wait()
}

// Beside the handshake only scripts go over the wire: one an operation.
func TestCommandsOnTheWire(t *testing.T) {
	f := start(t, redistest.Start(t))
	f.put("k", "v")
	f.scanAll("", 1)
	r := openRelocation(t, f.options)
	for range 2 {
		r.Put(context.Background(), "r", []byte("v"), 1000)
	}
	stats := f.redis.Info(context.Background(), "commandstats").Val()
	for _, unwanted := range []string{"client|setinfo", "client|maint_notifications", "cmdstat_ping", "script|load"} {
		if strings.Contains(stats, unwanted) {
			t.Errorf("the client sends %s", unwanted)
		}
	}
	if !strings.Contains(stats, "cmdstat_evalsha:calls=4,") || !strings.Contains(stats, "cmdstat_eval:calls=3,") {
		t.Errorf("want 4 EVALSHA, of which 3 unknown, and 3 EVAL:\n%s", stats)
	}
}

// A rewritten script runs, and each script is offered under its file's name.
func TestRewrite(t *testing.T) {
	server := redistest.Start(t)
	seen := map[string]bool{}
	options := reference.Options{Redis: server, KeyPrefix: prefix, Rewrite: func(script, source string) string {
		seen[script+".lua"] = true
		if script == "location_read" {
			return "return redis.error_reply('MUTANT')"
		}
		return source
	}}
	l := openLocation(t, options)
	openRelocation(t, options)
	_, err := l.Read(context.Background(), "k")
	if err == nil || !strings.Contains(err.Error(), "MUTANT") {
		t.Errorf("got %v", err)
	}
	files, _ := filepath.Glob("scripts/*_*.lua")
	for _, file := range files {
		if !seen[filepath.Base(file)] {
			t.Errorf("%s is not offered", file)
		}
	}
	if len(seen) != 7 || len(files) != 7 {
		t.Errorf("%d scripts of %d files, want 7", len(seen), len(files))
	}
}
