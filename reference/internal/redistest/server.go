// Package redistest starts a Redis of its own for the tests of the reference
// provider.
package redistest

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Start starts a redis-server on a unix socket with its own folder and returns
// the options to reach it. The server ends with the test, which is skipped
// where no redis-server is installed. extra holds more configuration, such as
// "--maxmemory", "1mb".
func Start(t testing.TB, extra ...string) *redis.Options {
	t.Helper()
	// A unix socket's path is limited to about 100 bytes: no t.TempDir here.
	dir, err := os.MkdirTemp("", "zr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	run(t, dir, append([]string{"--port", "0", "--unixsocket", socket}, extra...))
	return &redis.Options{Network: "unix", Addr: socket}
}

// StartCluster starts a one-node cluster that owns every slot, so that a
// script which touches a second slot fails.
func StartCluster(t testing.TB) *redis.Options {
	t.Helper()
	port, bus := freePort(t), freePort(t)
	run(t, t.TempDir(), []string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus),
	})
	options := &redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	client := Client(t, options)
	ctx := context.Background()
	if err := client.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(client.ClusterInfo(ctx).Val(), "cluster_state:ok") {
		if err := client.Ping(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // Redis tells nobody when its state changes
	}
	return options
}

// Client returns a plain client that is closed with the test.
func Client(t testing.TB, options *redis.Options) *redis.Client {
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

func run(t testing.TB, dir string, args []string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server on PATH; install Redis 7 to run this test")
	}
	command := exec.Command(path, append(args, "--dir", dir, "--save", "", "--appendonly", "no")...)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		var log strings.Builder
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			log.WriteString(lines.Text() + "\n")
			if strings.Contains(strings.ToLower(lines.Text()), "ready to accept connections") {
				select {
				case ready <- "":
				default:
				}
			}
		}
		select {
		case ready <- log.String():
		default:
		}
	}()
	t.Cleanup(func() {
		command.Process.Kill()
		<-drained
		command.Wait()
	})
	if log := <-ready; log != "" {
		t.Fatalf("redis-server did not start:\n%s", log)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
