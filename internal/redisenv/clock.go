package redisenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// clock is a server's own clock: libfaketime reads the offset from a file at each look at the time.
type clock struct {
	file string
	env  []string
}

// triplets are Debian's names of the library folders.
var triplets = map[string]string{
	"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "arm": "arm-linux-gnueabihf", "386": "i386-linux-gnu",
	"riscv64": "riscv64-linux-gnu", "ppc64le": "powerpc64le-linux-gnu", "s390x": "s390x-linux-gnu",
}

// newClock prepares a clock whose file lives in dir.
func newClock(dir string, skew time.Duration) (*clock, error) {
	c := &clock{file: filepath.Join(dir, "clock")}
	var preload []string
	switch runtime.GOOS {
	case "linux":
		triplet := triplets[runtime.GOARCH]
		lib := firstFile(
			"/usr/lib/"+triplet+"/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1",
			"/usr/lib64/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1",
			"/home/linuxbrew/.linuxbrew/lib/faketime/libfaketime.so.1")
		libc := firstFile("/lib/"+triplet+"/libc.so.6", "/usr/lib/"+triplet+"/libc.so.6", "/lib64/libc.so.6",
			"/usr/lib64/libc.so.6", "/usr/lib/libc.so.6")
		if lib == "" || libc == "" {
			return nil, unavailable("needs libfaketime to move a clock (Debian, Ubuntu: apt-get install faketime)")
		}
		// Without the C library behind it, libfaketime's look-up allocates, and the server's jemalloc asks for the time again:
		// an endless recursion.
		preload = []string{"LD_PRELOAD=" + lib + ":" + libc}
	case "darwin":
		lib := firstFile("/opt/homebrew/lib/faketime/libfaketime.1.dylib", "/usr/local/lib/faketime/libfaketime.1.dylib")
		if lib == "" {
			return nil, unavailable("needs libfaketime to move a clock (brew install libfaketime)")
		}
		preload = []string{"DYLD_INSERT_LIBRARIES=" + lib, "DYLD_FORCE_FLAT_NAMESPACE=1"}
	default:
		return nil, unavailable("a clock can't be moved on %s", runtime.GOOS)
	}
	c.env = append(preload, "FAKETIME_TIMESTAMP_FILE="+c.file, "FAKETIME_FMT=%s", "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1")
	return c, c.set(skew)
}

// HostClock returns the environment in which a process sees the host's clock offset ahead (behind when negative), if its
// runtime asks the C library for the time. Its file lives in dir. Where libfaketime is missing the error is an
// [*Unavailable].
func HostClock(dir string, offset time.Duration) (env []string, err error) {
	c, err := newClock(dir, offset)
	if err != nil {
		return nil, err
	}
	return c.env, nil
}

func (c *clock) set(offset time.Duration) error {
	return writeAtomically(c.file, fmt.Sprintf("%+.3f\n", offset.Seconds()))
}

// freeze lets the clock stand still a little after the beginning of the millisecond, so that it is the same one rounded down
// or to the nearest.
func (c *clock) freeze(ms int64) error {
	return writeAtomically(c.file, fmt.Sprintf("%d.%03d2\n", ms/1000, ms%1000))
}

// firstFile returns the first of the paths that exists, or "".
func firstFile(paths ...string) string {
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil && !st.IsDir() {
			return p
		}
	}
	return ""
}

// SetClock moves the server's clock so that it runs offset ahead of the host's (behind when negative; milliseconds
// count), and returns when the server's TIME shows it. The server must have been started with [ServerOptions.Clock].
func (s *Server) SetClock(ctx context.Context, offset time.Duration) error {
	if s.clock == nil {
		return unavailable("%s has no clock of its own", s.name)
	}
	if err := s.clock.set(offset); err != nil {
		return err
	}
	return s.awaitClock(ctx, offset)
}

// FreezeClock lets the server's clock stand still in a millisecond of the Unix epoch until it is set or frozen anew, and
// returns when the server's TIME shows it. The server must have been started with [ServerOptions.Clock].
func (s *Server) FreezeClock(ctx context.Context, ms int64) error {
	if s.clock == nil {
		return unavailable("%s has no clock of its own", s.name)
	}
	if err := s.clock.freeze(ms); err != nil {
		return err
	}
	c := s.plainClient()
	defer c.Close()
	var seen int64
	err := poll(ctx, 2*time.Second, func() (bool, error) {
		now, err := c.Time(ctx).Result()
		seen = now.UnixMilli()
		return err == nil && seen == ms, err
	})
	if err != nil {
		return fmt.Errorf("the clock of %s does not stand still by libfaketime: wished %d, seen %d: %w", s.name, ms, seen, err)
	}
	return nil
}

func (s *Server) awaitClock(ctx context.Context, offset time.Duration) error {
	c := s.plainClient()
	defer c.Close()
	const slack = 5 * time.Millisecond // the file holds whole milliseconds
	var seen time.Duration
	err := poll(ctx, 2*time.Second, func() (bool, error) {
		before := time.Now()
		now, err := c.Time(ctx).Result()
		after := time.Now()
		seen = now.Sub(before)
		return err == nil && !now.Before(before.Add(offset-slack)) && !now.After(after.Add(offset+slack)), err
	})
	if err != nil {
		return fmt.Errorf("the clock of %s does not follow libfaketime: wished offset %v, seen %v: %w", s.name, offset, seen, err)
	}
	return nil
}
