//go:build unix

package faulttest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
)

// A signal at any moment ends the run with status 3 and a report, and leaves
// neither process nor file nor key.
func TestSignals(t *testing.T) {
	t.Parallel()
	s, c := server(t, redisenv.ServerOptions{})
	for round := range 10 {
		sig := []os.Signal{os.Interrupt, syscall.SIGTERM}[round%2]
		redis := []string{"local", s.ConnInfo().URL}[round/2%2]
		delay := time.Duration(rand.Int64N(int64(1200 * time.Millisecond)))
		if round < 2 {
			delay = time.Duration(rand.Int64N(int64(20 * time.Millisecond))) // in start-up
		}
		t.Run(fmt.Sprintf("%v after %v", sig, delay.Round(time.Millisecond)), func(t *testing.T) {
			r := newRow(t, "--redis", redis, "--run", "spi", "--html", "made/by/the/command/out.html").target("good").start()
			// The folder is there once the command has read its arguments.
			await(t, "folder of the HTML report", func() bool { _, err := os.Stat(r.file("made")); return err == nil })
			time.Sleep(delay)
			if err := r.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			r.wait()
			if strings.Contains(r.stdout.String(), "\nCONFORMS") {
				return // it was faster
			}
			r.want(3, 0, -1)
			text := fmt.Sprint(r.stdout.String(), r.stderr.String())
			if want := fmt.Sprintf("a signal came (%v)", sig); !strings.Contains(text, want) {
				t.Errorf("the output does not say %q: %s", want, text)
			}
		})
	}
	if left := keys(t, c); len(left) > 0 {
		t.Errorf("keys left: %q", left)
	}
}

// A signal while a report is written does not spoil it: the run was over.
func TestSignalWhileReporting(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	r := newRow(t, "--redis", "local", "--run", "spi/read", "--json", "pipe")
	if err := syscall.Mkfifo(r.file("pipe"), 0o600); err != nil {
		t.Skipf("cannot make a pipe: %v", err)
	}
	r.start()
	// The JUnit report comes first, the JSON report waits for its reader.
	await(t, "JUnit report", func() bool { _, err := os.Stat(r.file("out.xml")); return err == nil })
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	f, err := os.Open(r.file("pipe"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil || !strings.Contains(string(text), `"judgement": "CONFORMS"`) || !strings.HasSuffix(string(text), "}\n") {
		t.Errorf("the JSON report: %.200s, %v", text, err)
	}
	r.wait().want(0, 0, 0)
}

// A report that can't be written is one line and status 3; the others are
// written all the same.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	args := []string{"--redis", "local", "--run", "spi/read"}
	for _, flag := range []string{"--json", "--html", "--markdown"} {
		t.Run(flag, func(t *testing.T) {
			newRow(t, append(args, flag, "/dev/full")...).run().want(3, 0,
				0).oneLine("cannot write /dev/full: no space left on device")
		})
	}
	t.Run("--junit", func(t *testing.T) {
		r := newRow(t, append(args, "--junit", "/dev/full")...).run().oneLine("cannot write /dev/full: no space left on device")
		if r.status != 3 {
			t.Errorf("status %d", r.status)
		}
	})
	t.Run("stdout", func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		r := newRow(t, args...)
		r.cmd.Stdout = full
		r.run().want(3, 0, 0).oneLine("cannot write to stdout")
	})
	t.Run("full file system", func(t *testing.T) {
		r := newRow(t, args...)
		disk := mount(t, "size=4k")
		r.cmd.Args = append(r.cmd.Args, "--html", disk+"/out.html")
		r.run().want(3, 0, 0).oneLine("cannot write " + disk + "/out.html: no space left on device")
		if files, _ := os.ReadDir(disk); len(files) > 0 {
			t.Errorf("half a report is left: %v", files)
		}
	})
	t.Run("read-only file system", func(t *testing.T) {
		r := newRow(t, args...)
		disk := mount(t, "ro")
		r.cmd.Args = append(r.cmd.Args, "--html", disk+"/out.html")
		r.run().oneLine("--html: cannot write " + disk + "/out.html: read-only file system; choose another path")
		if r.status != 2 || r.stdout.Len() > 0 || r.took > 10*time.Second {
			t.Errorf("status %d, stdout %q: expected a refusal before the run", r.status, r.stdout.String())
		}
	})
}

// mount makes a file system in memory.
func mount(t *testing.T, options string) string {
	t.Helper()
	dir := folder(t)
	if text, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a file system here: %v: %s", err, text)
	}
	t.Cleanup(func() {
		if text, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, text)
		}
	})
	return dir
}
