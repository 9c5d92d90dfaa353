package redisenv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// owner identifies the process that something belongs to, so that a later run can tell a leftover from the property of
// a run that lives. A pid alone would not do: it is reused, and it means something only inside its own scope.
type owner struct {
	scope   string // host, boot and pid namespace in which pid counts
	pid     int
	started int64 // the process's start, milliseconds since the epoch
}

func self() owner { return ownerOf(os.Getpid()) }

func ownerOf(pid int) owner {
	host, _ := os.Hostname()
	scope := host
	// Containers on one host may share its name: the boot and the pid namespace tell them apart. Both are Linux's alone.
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		scope += "/" + strings.TrimSpace(string(boot))
	}
	if ns, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		scope += "/" + ns
	}
	return owner{scope: scope, pid: pid, started: startOf(pid)}
}

// startOf returns when a process started, 0 when there is no such process or it can't be told.
func startOf(pid int) int64 {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0
	}
	ms, err := p.CreateTime()
	if err != nil {
		return 0
	}
	return ms
}

func (o owner) String() string { return fmt.Sprintf("%s %d %d", o.scope, o.pid, o.started) }

func parseOwner(s string) (o owner, ok bool) {
	f := strings.Fields(s)
	if len(f) < 3 {
		return owner{}, false
	}
	var err1, err2 error
	o.scope = strings.Join(f[:len(f)-2], " ")
	o.pid, err1 = strconv.Atoi(f[len(f)-2])
	o.started, err2 = strconv.ParseInt(f[len(f)-1], 10, 64)
	return o, err1 == nil && err2 == nil
}

// gone reports that the owner is surely dead: it lived in our scope, and its pid is free or belongs to a process that
// started at another time. In doubt the answer is no.
func (o owner) gone() bool {
	if o.scope != self().scope {
		return false
	}
	alive, err := process.PidExists(int32(o.pid))
	if err != nil {
		return false
	}
	if !alive {
		return true
	}
	const slack = 5000 // the start is computed from the boot time, which is read in whole seconds
	now := startOf(o.pid)
	return now != 0 && o.started != 0 && (now-o.started > slack || o.started-now > slack)
}

const (
	dirPrefix = "zlink-conformance-redis-"
	ownerFile = "owner"
)

// newServerDir makes the folder of a local server, and removes those that dead runs left behind.
func newServerDir(runID string) (string, error) {
	sweepDirs(os.TempDir())
	dir, err := os.MkdirTemp("", dirPrefix+pathSafe(runID)+"*")
	if err != nil {
		return "", fmt.Errorf("cannot make a folder for the server below %s (TMPDIR names another place): %w", os.TempDir(),
			pathCause(err))
	}
	if err := os.WriteFile(filepath.Join(dir, ownerFile), []byte(self().String()), 0o600); err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// pathCause drops the operation and the random name from a file error.
func pathCause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// sweepDirs removes server folders whose owner is gone, and nothing else. What can't be removed is another user's.
func sweepDirs(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, dirPrefix+"*"))
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, ownerFile))
		if err != nil {
			continue
		}
		if o, ok := parseOwner(string(text)); ok && o.gone() {
			_ = os.RemoveAll(dir)
		}
	}
}

// pathSafe keeps letters, digits and dashes; a unix socket's path has little room, so it also cuts.
func pathSafe(id string) string {
	id = strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, id)
	if len(id) > 16 {
		id = id[:16]
	}
	if id != "" {
		id += "-"
	}
	return id
}
