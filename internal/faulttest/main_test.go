//go:build unix

// Package faulttest runs the built command against Redis servers and targets
// that fail, and against signals, full disks and prying eyes.
// docs/harness-faults.md holds what came out.
package faulttest

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // refused connections are what some rows are about
	if len(os.Args) == 3 {
		if mode, ok := strings.CutPrefix(os.Args[1], "adapter:"); ok {
			if err := misbehave(mode, os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	status := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(status)
}

var builtIn string // folder of the built command

// command is the path of the built command.
var command = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "faulttest-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	path := filepath.Join(dir, "zlink-conformance")
	text, err := exec.Command("go", "build", "-o", path, "../../cmd/zlink-conformance").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return path, err
})

// row is one run of the command.
type row struct {
	t   *testing.T
	dir string // reports, and whatever the target writes
	tmp string // TMPDIR of the command
	cmd *exec.Cmd

	stdout, stderr bytes.Buffer
	started        time.Time
	took           time.Duration
	status         int
	peak           uint64 // of the command's memory, in bytes
	watching       sync.WaitGroup
	junit          junit.Testsuites
}

// newRow prepares run with these arguments, a JUnit report and a seed.
func newRow(t *testing.T, args ...string) *row {
	t.Helper()
	path, err := command()
	if err != nil {
		t.Fatal(err)
	}
	r := &row{t: t, dir: folder(t), tmp: folder(t)}
	args = append([]string{"run", "--seed", "1", "--junit", r.file("out.xml")}, args...)
	r.cmd = exec.Command(path, args...)
	r.cmd.Env = append(os.Environ(), "TMPDIR="+r.tmp, "NO_COLOR=1")
	r.cmd.Dir = r.dir
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	t.Cleanup(func() {
		if r.cmd.Process != nil && r.cmd.ProcessState == nil {
			r.cmd.Process.Kill()
			r.cmd.Wait()
		}
	})
	return r
}

// folder is a new folder with a short path: a unix socket may go into it.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ft-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (r *row) file(name string) string { return filepath.Join(r.dir, name) }

// target makes the row judge the misbehaving adapter.
func (r *row) target(mode string) *row {
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	r.cmd.Args = append(r.cmd.Args, "--", self, "adapter:"+mode, r.dir)
	return r
}

func (r *row) start() *row {
	r.t.Helper()
	r.started = time.Now()
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.watchMemory()
	return r
}

// wait waits for the command's end, reads its JUnit report and checks that
// nothing is left.
func (r *row) wait() *row {
	r.t.Helper()
	err := r.cmd.Wait()
	r.took = time.Since(r.started)
	r.watching.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	r.status = r.cmd.ProcessState.ExitCode()
	if text, err := os.ReadFile(r.file("out.xml")); err == nil {
		if err := xml.Unmarshal(text, &r.junit); err != nil {
			r.t.Errorf("the JUnit report is no XML: %v", err)
		}
	}
	r.t.Logf("status %d after %.1f s, peak %d MiB; JUnit: %d tests, %d failures, %d errors, %d skipped; %s",
		r.status, r.took.Seconds(), r.peak>>20, r.junit.Tests, r.junit.Failures, r.junit.Errors, r.junit.Skipped,
		lastLine(r.stdout.String()))
	if text := strings.TrimSpace(r.stderr.String()); text != "" {
		r.t.Logf("stderr: %.600s", text)
	}
	r.nothingLeft()
	return r
}

func (r *row) run() *row {
	r.t.Helper()
	return r.start().wait()
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// watchMemory samples the command's memory. The rusage of its end would not
// do: on Linux it counts the memory of whoever started it.
func (r *row) watchMemory() {
	p, err := process.NewProcess(int32(r.cmd.Process.Pid))
	if err != nil {
		return // it has ended already
	}
	r.watching.Go(func() {
		for {
			m, err := p.MemoryInfo()
			if err != nil || m.RSS == 0 {
				return
			}
			r.peak = max(r.peak, m.RSS, m.HWM)
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// nothingLeft checks that no process and no temporary file of the row is left.
func (r *row) nothingLeft() {
	r.t.Helper()
	var left []string
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if left = r.processes(); len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	if len(left) > 0 {
		r.t.Errorf("processes left: %q", left)
	}
	if files, _ := filepath.Glob(filepath.Join(r.tmp, "*")); len(files) > 0 {
		r.t.Errorf("temporary files left: %q", files)
	}
	if files, _ := filepath.Glob(filepath.Join(r.dir, ".*")); len(files) > 0 {
		r.t.Errorf("half written reports left: %q", files)
	}
}

// processes are the living ones that belong to the row: by their arguments, or
// by where they work.
func (r *row) processes() []string {
	var out []string
	all, err := process.Processes()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range all {
		line, _ := p.Cmdline()
		cwd, _ := p.Cwd()
		if status, _ := p.Status(); slices.Contains(status, process.Zombie) || int(p.Pid) == os.Getpid() {
			continue
		}
		for _, dir := range []string{r.dir, r.tmp} {
			if strings.Contains(line, dir) || strings.HasPrefix(cwd, dir) {
				out = append(out, fmt.Sprint(p.Pid, " ", line))
				break
			}
		}
	}
	return out
}

// want checks exit status and JUnit totals; -1 is any number but 0, -2 any.
func (r *row) want(status, failures, errors int) *row {
	r.t.Helper()
	ok := func(want, got int) bool { return want == got || want == -1 && got > 0 || want == -2 }
	if r.status != status || !ok(failures, r.junit.Failures) || !ok(errors, r.junit.Errors) || r.junit.Tests == 0 {
		r.t.Errorf("status %d, JUnit: %d tests, %d failures, %d errors; want status %d, %d failures, %d errors\n%.3000s",
			r.status, r.junit.Tests, r.junit.Failures, r.junit.Errors, status, failures, errors, r.stdout.String())
	}
	return r
}

// says checks that stdout holds all the texts.
func (r *row) says(texts ...string) *row {
	r.t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout.String(), text) {
			r.t.Errorf("stdout does not say %q:\n%.3000s", text, r.stdout.String())
		}
	}
	return r
}

// oneLine checks that stderr is one line that holds the text.
func (r *row) oneLine(text string) *row {
	r.t.Helper()
	line := strings.TrimSuffix(r.stderr.String(), "\n")
	if strings.Contains(line, "\n") || !strings.Contains(line, text) {
		r.t.Errorf("stderr is not one line with %q: %q", text, line)
	}
	return r
}

// server starts a Redis of the test's own, for runs that get its URL.
func server(t *testing.T, o redisenv.ServerOptions) (*redisenv.Server, *redis.Client) {
	t.Helper()
	env := redistest.Env(t)
	s, err := env.Extra(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, redistest.Client(t, s.Options())
}

// keys are all keys of the database, sorted.
func keys(t *testing.T, c *redis.Client) []string {
	t.Helper()
	out, err := c.Keys(context.Background(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}
