package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zlink-systems/zlink-conformance/result"
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

// sameSignal is the time within which another signal is the first one again.
const sameSignal = time.Second

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP
// ends, so that the command can clean up and report; the second one ends the
// process at once. SIGPIPE is caught, so that a closed stdout is an error of
// the write and not the end of a process that has servers to stop.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
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
		// timeout(1), make and others pass on what the terminal sends as well.
		for first := time.Now(); time.Since(first) < sameSignal; {
			<-signals
		}
		os.Exit(result.ExitEnvironment)
	}()
	return ctx, func() { cancel(errors.New("the command ended")) }
}
