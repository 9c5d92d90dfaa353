package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/rogpeppe/go-internal/testscript"

	adapter "github.com/zlink-systems/zlink-conformance/adapters/go"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"zlink-conformance":    main,
		"interrupting-adapter": interruptingAdapter,
		"stubborn-adapter":     stubbornAdapter,
		"unsupporting-adapter": unsupportingAdapter,
		"lesser-adapter":       lesserAdapter,
		"sleeper":              func() { stubborn(); time.Sleep(time.Minute) },
	})
}

// interruptingAdapter is a target that presses Ctrl-C: on the first operation
// it signals its parent, twice as timeout(1) does, and then it keeps silent
// until it is ended.
func interruptingAdapter() {
	serveUntilEnded(func() error {
		parent, err := os.FindProcess(os.Getppid())
		return errors.Join(err, parent.Signal(os.Interrupt), parent.Signal(os.Interrupt))
	})
}

// stubbornAdapter is a target that ignores all polite requests to end, as does
// a child that it starts, and presses Ctrl-C twice, with a pause. The file pids
// names both.
func stubbornAdapter() {
	stubborn()
	serveUntilEnded(func() error {
		child := exec.Command("sleeper")
		if err := child.Start(); err != nil {
			return err
		}
		if err := os.WriteFile("pids", fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600); err != nil {
			return err
		}
		parent, err := os.FindProcess(os.Getppid())
		if err != nil {
			return err
		}
		err = parent.Signal(os.Interrupt)
		time.Sleep(300 * time.Millisecond) // a person's second Ctrl-C, and no repetition of the first
		return errors.Join(err, parent.Signal(os.Interrupt))
	})
	time.Sleep(time.Minute)
}

// unsupportingAdapter announces everything and answers "unsupported" to every
// operation of its stores.
func unsupportingAdapter() {
	provider := refprovider.New()
	provider.OpenLocation = func(context.Context, targets.StoreConfig) (spi.LocationStore, error) { return unsupporting{}, nil }
	provider.OpenRelocation = func(context.Context, targets.StoreConfig) (spi.RelocationStore, error) {
		return unsupportingBlobs{}, nil
	}
	serve(provider)
}

var errUnsupported = targets.Unsupported("not today")

type unsupporting struct{}

func (unsupporting) Read(context.Context, spi.Key) (spi.ReadResult, error) {
	return nil, errUnsupported
}
func (unsupporting) Write(context.Context, spi.WriteRequest) (spi.WriteResult, error) {
	return nil, errUnsupported
}
func (unsupporting) Scan(context.Context, spi.ScanRequest) (spi.ScanResult, error) {
	return nil, errUnsupported
}
func (unsupporting) Close() error { return nil }

type unsupportingBlobs struct{ spi.RelocationStore }

func (unsupportingBlobs) Put(context.Context, spi.Reference, []byte, spi.Retention) (spi.BlobPutResult, error) {
	return nil, errUnsupported
}
func (unsupportingBlobs) Read(context.Context, spi.Reference) (spi.BlobReadResult, error) {
	return nil, errUnsupported
}
func (unsupportingBlobs) Renew(context.Context, spi.Reference, spi.Retention) (spi.BlobRenewResult, error) {
	return nil, errUnsupported
}
func (unsupportingBlobs) Delete(context.Context, spi.Reference) error { return errUnsupported }
func (unsupportingBlobs) Close() error                                { return nil }

// lesserAdapter is the reference with its Location Store alone, and without the
// layout and cancellation.
func lesserAdapter() {
	provider := refprovider.New()
	provider.Info.Stores = []string{targets.StoreLocation}
	provider.Info.Layout = targets.LayoutNone
	provider.Info.Capabilities = []string{targets.CapValueCondition, targets.CapSharedConnection, targets.CapSurface}
	serve(provider)
}

func serve(provider adapter.Provider) {
	if err := adapter.Serve(context.Background(), provider, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stubborn ignores the signals that ask a process to end.
func stubborn() { signal.Ignore(os.Interrupt, syscall.SIGTERM) }

// serveUntilEnded serves a provider of which the first store calls press, and
// which then answers nothing.
func serveUntilEnded(press func() error) {
	var once sync.Once
	provider := adapter.Provider{
		Info: targets.Info{Provider: "interrupter", Language: "Go", Version: "1", Layout: targets.LayoutNone,
			Stores: []string{targets.StoreLocation}},
		OpenLocation: func(ctx context.Context, _ adapter.Config) (spi.LocationStore, error) {
			var err error
			once.Do(func() { err = press() })
			if err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	serve(provider)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// TOOLS holds the commands above and nothing else.
			env.Setenv("TOOLS", filepath.SplitList(env.Getenv("PATH"))[0])
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "redis" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, err := redisenv.FindServer()
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"within": within,
			"status": status,
			"junit":  checkJUnit,
			"gone":   gone,
			"httpd":  httpd,
		},
	})
}

// within DURATION COMMAND...: the command fails, and does so within the time.
func within(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	started := time.Now()
	err = ts.Exec(args[1], args[2:]...)
	if took := time.Since(started); took > limit {
		ts.Fatalf("took %v, limit %v", took, limit)
	}
	if neg != (err != nil) {
		ts.Fatalf("unexpected outcome: %v", err)
	}
}

// status N COMMAND...: the command ends with this exit status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if neg || strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s: exit status %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// junit FILE TESTS FAILURES ERRORS SKIPPED: the report reads back with these
// totals; - is any number.
func checkJUnit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: junit FILE TESTS FAILURES ERRORS SKIPPED")
	}
	var doc junit.Testsuites
	ts.Check(xml.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	got := []string{strconv.Itoa(doc.Tests), strconv.Itoa(doc.Failures), strconv.Itoa(doc.Errors), strconv.Itoa(doc.Skipped)}
	for i, want := range args[1:] {
		if want != "-" && want != got[i] {
			ts.Fatalf("tests, failures, errors, skipped: got %s, want %s", strings.Join(got, " "), strings.Join(args[1:], " "))
		}
	}
}

// gone FILE: the processes that the file names have ended or soon do.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	for _, pid := range strings.Fields(ts.ReadFile(args[0])) {
		n, err := strconv.Atoi(pid)
		ts.Check(err)
		p, err := os.FindProcess(n)
		ts.Check(err)
		for deadline := time.Now().Add(10 * time.Second); p.Signal(syscall.Signal(0)) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				ts.Fatalf("process %d is still there", n)
			}
		}
	}
}

// httpd NAME: a web server listens at the port in the variable NAME.
func httpd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: httpd NAME")
	}
	server := httptest.NewServer(nil)
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL[strings.LastIndex(server.URL, ":")+1:])
}
