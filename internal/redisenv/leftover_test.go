package redisenv

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// victimMode makes the test binary start an environment of that mode, print where it is and wait to be killed.
const victimMode = "REDISENV_TEST_VICTIM"

func TestMain(m *testing.M) {
	if mode, image, ok := strings.Cut(os.Getenv(victimMode), " "); ok {
		e, err := Start(context.Background(), Options{Mode: mode, Image: image, RunID: "victim"})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(e.Main().Addr())
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent, should the kill not come
		e.Close()
		return
	}
	os.Exit(m.Run())
}

// killVictim starts a victim, kills it without warning and returns its server's address and its pid.
func killVictim(t *testing.T, mode, image string, env ...string) (addr string, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), victimMode+"="+mode+" "+image), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr = strings.TrimSpace(line)
	if !answers(addr) {
		t.Errorf("the victim's server does not run: %q", addr)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return addr, cmd.Process.Pid
}

func answers(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

func TestKilledRunLeavesNoServer(t *testing.T) {
	if _, err := FindServer(); err != nil {
		t.Skip("skipped:", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("skipped: only Linux ends a child with its parent")
	}
	tmp := t.TempDir()
	addr, _ := killVictim(t, ModeLocal, "", "TMPDIR="+tmp)
	if err := poll(t.Context(), 20*time.Second, func() (bool, error) { return !answers(addr), nil }); err != nil {
		t.Fatal("the server outlives the run that was killed")
	}
	// Its folder stays, and goes with the next run. The folder of a run that lives stays, and so does what is not ours.
	living := filepath.Join(tmp, dirPrefix+"living")
	foreign := filepath.Join(tmp, dirPrefix+"foreign")
	for dir, o := range map[string]string{living: self().String(), foreign: "elsewhere 1 1"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ownerFile), []byte(o), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(tmp, "*"))
	if len(left) != 3 {
		t.Errorf("before: %v", left)
	}
	sweepDirs(tmp)
	left, _ = filepath.Glob(filepath.Join(tmp, "*"))
	if want := []string{foreign, living}; fmt.Sprint(left) != fmt.Sprint(want) {
		t.Errorf("after: %v, want %v", left, want)
	}
}

func TestNextRunRemovesContainersOfKilledRun(t *testing.T) {
	image := testImage(t)
	_, pid := killVictim(t, ModeDocker, image)
	e, err := Start(t.Context(), Options{Mode: ModeDocker, Image: image})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for id, label := range containerOwners(t) {
		if o, ok := parseOwner(label); !ok || o.scope == self().scope && o.pid == pid {
			t.Errorf("container %s of the killed run is still there", id)
		}
	}
	if !answers(e.Main().Addr()) {
		t.Error("the run's own container was removed")
	}
}

func TestOwnerGone(t *testing.T) {
	me := self()
	rows := []struct {
		name string
		o    owner
		want bool
	}{
		{"myself", me, false},
		{"a pid that started at another time", owner{me.scope, me.pid, me.started - 60_000}, true},
		{"a pid that nobody has", owner{me.scope, 1<<31 - 2, me.started}, true},
		{"another scope", owner{"elsewhere", 1<<31 - 2, me.started}, false},
		{"an unknown start", owner{me.scope, me.pid, 0}, false},
	}
	for _, row := range rows {
		if got := row.o.gone(); got != row.want {
			t.Errorf("%s: gone = %v", row.name, got)
		}
		if back, ok := parseOwner(row.o.String()); !ok || back != row.o {
			t.Errorf("%s: written and read: %+v", row.name, back)
		}
	}
	if me.started == 0 {
		t.Error("the own start is unknown")
	}
	if _, ok := parseOwner("x"); ok {
		t.Error("nonsense is an owner")
	}
}
