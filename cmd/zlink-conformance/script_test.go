package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/rogpeppe/go-internal/testscript"

	adapter "github.com/zlink-systems/zlink-conformance/adapters/go"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/target"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"zlink-conformance":    main,
		"interrupting-adapter": interruptingAdapter,
	})
}

// interruptingAdapter is a target that presses Ctrl-C: on the first operation
// it signals its parent, twice as timeout(1) does, and then it keeps silent
// until it is ended.
func interruptingAdapter() {
	provider := adapter.Provider{
		Info: target.Info{Provider: "interrupter", Language: "Go", Version: "1", Layout: target.LayoutNone,
			Stores: []string{target.StoreLocation}},
		OpenLocation: func(ctx context.Context, _ adapter.Config) (spi.LocationStore, error) {
			parent, err := os.FindProcess(os.Getppid())
			if err == nil {
				err = errors.Join(parent.Signal(os.Interrupt), parent.Signal(os.Interrupt))
			}
			if err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	if err := adapter.Serve(context.Background(), provider, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
			for _, server := range []string{"redis-server", "valkey-server"} {
				if _, err := exec.LookPath(server); err == nil {
					return true, nil
				}
			}
			return false, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"within": within,
			"status": status,
			"junit":  checkJUnit,
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
