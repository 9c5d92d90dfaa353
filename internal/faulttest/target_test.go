//go:build unix

package faulttest

import (
	"strings"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
)

// A target that fails in its process is an error of its cases and never a
// failure, and the tool stays small.
func TestFailingTarget(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	const mebi = 1 << 20
	for _, c := range []struct {
		mode   string
		args   []string
		status int
		errors int
		says   []string
		within time.Duration // generous: the machine may be loaded
		memory uint64
	}{
		{mode: "good", status: 0, says: []string{"CONFORMS"}},
		{mode: "flood-stdout", status: 0, says: []string{"CONFORMS"}, memory: 300 * mebi},
		{mode: "flood-stderr", status: 0, says: []string{"CONFORMS"}, memory: 300 * mebi},
		{mode: "huge-line", status: 0, says: []string{"CONFORMS"}, memory: 300 * mebi},
		{mode: "huge-message", status: 0, says: []string{"CONFORMS"}, memory: 300 * mebi},
		{mode: "stubborn", status: 0, says: []string{"CONFORMS"}},
		{mode: "late", args: []string{"--timeout", "500ms"}, status: 3, errors: -1,
			says: []string{"NOT JUDGED", "no end within 500ms (--timeout)"}},
		{mode: "slow-start", status: 0, says: []string{"CONFORMS"}},
		{mode: "crash-loop", args: []string{"--parallel", "1"}, status: 3, errors: -1,
			says: []string{"NOT JUDGED", "exit status 7", "last words: out of memory", "after 5 restarts"}},
		{mode: "dies-once", status: 3, errors: -1,
			says: []string{"NOT JUDGED", "exit status 7", "last words: out of memory", " pass"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--redis", "local", "--run", "spi/read", "--run", "spi/expiry"}, c.args...)
			r := newRow(t, args...).target(c.mode).run().want(c.status, 0, c.errors).says(c.says...)
			if c.memory > 0 && r.peak > c.memory {
				t.Errorf("the tool held %d MiB, limit %d MiB", r.peak/mebi, c.memory/mebi)
			}
			if r.took > time.Minute {
				t.Errorf("took %v", r.took)
			}
		})
	}
}

// Only the cases that were under way when the target died are errors.
func TestRunGoesOnAfterADeath(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	r := newRow(t, "--redis", "local", "--run", "spi", "--skip", "spi/size", "--parallel", "4").target("dies-once").run().want(3,
		0, -1)
	if r.junit.Errors > 4 || r.junit.Tests < 100 {
		t.Errorf("%d of %d cases are errors, expected no more than the 4 at once", r.junit.Errors, r.junit.Tests)
	}
	var text strings.Builder
	for _, s := range r.junit.Suites {
		for _, c := range s.Testcases {
			if c.Error != nil {
				text.WriteString(c.Error.Message + "\n" + c.Error.Data)
			}
		}
	}
	for _, want := range []string{"the target ended (exit status 7)", "last words: out of memory"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the JUnit errors do not say %q:\n%s", want, text.String())
		}
	}
}

// Connections that a target leaks are an advisory.
func TestLeakedConnections(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	for _, c := range []struct {
		args             []string
		status, failures int
	}{{nil, 0, 0}, {[]string{"--strict"}, 1, 1}} {
		t.Run(strings.Join(c.args, ""), func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--redis", "local", "--run", "spi/lifetime/connections-released"}, c.args...)
			newRow(t, args...).target("leak").run().want(c.status, c.failures, 0).says("L7.release (SHOULD)", "1 advisory")
		})
	}
}

// A target that answers nothing is started again, and then the run ends: it
// does not wait for each case's time.
func TestSilentTarget(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	r := newRow(t, "--redis", "local", "--run", "spi", "--timeout", "6s").target("silent").run().want(3, 0, -1).
		says("NOT JUDGED: the run ended early: the target kept silent: 3 operations in a row had no answer",
			"also after 2 restarts")
	if r.took > 90*time.Second {
		t.Errorf("took %v", r.took)
	}
}

// A store that answers nothing is given up alone: the other one is judged.
func TestSilentStore(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	r := newRow(t, "--redis", "local", "--run", "spi/read", "--run", "spi/put", "--run", "spi/renew", "--run",
		"spi/blob-retention",
		"--run", "spi/relocation", "--timeout", "15s", "--parallel", "4").target("silent-relocation").run().want(3, 0, -1).
		says("not started: the target kept silent at its relocation store: 3 operations in a row had no answer, while its " +
			"location store gave some")
	for _, s := range r.junit.Suites {
		for _, c := range s.Testcases {
			if s.Name == "spi/read" && (c.Error != nil || c.Skipped != nil) {
				t.Errorf("%s was not judged", c.Name)
			}
		}
	}
	if r.took > 2*time.Minute {
		t.Errorf("took %v", r.took)
	}
}

// The deadline of the run ends it, with the reports of what was judged by then.
func TestDeadline(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	r := newRow(t, "--redis", "local", "--run", "spi/read", "--deadline", "3s").target("hang").run().want(3, 0, -1).
		says("NOT JUDGED: the run ended early: its time was over (--deadline 3s)")
	if r.took > 30*time.Second {
		t.Errorf("took %v", r.took)
	}
}
