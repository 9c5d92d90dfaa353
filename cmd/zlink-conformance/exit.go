package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets/process"
)

// exit is an outcome of a command with its exit status; without an error the
// command has said itself what there is to say.
type exit struct {
	status int
	err    error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exit{result.ExitUsage, fmt.Errorf(format, args...)}
}

func trouble(err error) error { return &exit{result.ExitEnvironment, err} }

const (
	// sameSignal is the time within which another signal is the first one
	// again: timeout(1) signals its child and then its own group.
	sameSignal = 50 * time.Millisecond
	// lastWords is the time for what the second signal still ends.
	lastWords = time.Second
)

// interruption is what signals do to a command.
type interruption struct {
	mu      sync.Mutex
	servers map[io.Closer]bool // to end when the second signal comes
}

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP
// ends, so that the command can clean up and report. The second one kills the
// targets, ends the servers that were registered, within a second, and then
// the process.
func interruptible(parent context.Context) (context.Context, *interruption, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	in := &interruption{servers: map[io.Closer]bool{}}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case s := <-signals:
			fmt.Fprintf(os.Stderr, "zlink-conformance: %v: ending the run and cleaning up; once more ends at once\n", s)
			cancel(fmt.Errorf("a signal came (%v)", s))
		case <-ctx.Done():
			return
		}
		for first := time.Now(); time.Since(first) < sameSignal; {
			<-signals
		}
		in.killAll()
		os.Exit(result.ExitEnvironment)
	}()
	return ctx, in, func() { cancel(errors.New("the command ended")) }
}

// register has the second signal close the server, until the returned
// function is called.
func (in *interruption) register(server io.Closer) (forget func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.servers[server] = true
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.servers, server)
	}
}

func (in *interruption) killAll() {
	process.KillAll()
	in.mu.Lock()
	defer in.mu.Unlock()
	var closing sync.WaitGroup
	for server := range in.servers {
		closing.Go(func() { _ = server.Close() })
	}
	done := make(chan struct{})
	go func() { closing.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(lastWords):
	}
}
