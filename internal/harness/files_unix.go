//go:build unix

package harness

import (
	"fmt"
	"syscall"
)

// minOpenFiles is enough for the connections of a few cases at once, extra
// servers, proxies and an adapter.
const minOpenFiles = 256

// enoughFiles reports a limit of open files under which connections would fail
// for no fault of the target.
func enoughFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || l.Cur >= minOpenFiles {
		return nil
	}
	return fmt.Errorf("only %d files may be open at once, but a run needs %d: raise the limit, as with ulimit -n 1024", l.Cur,
		minOpenFiles)
}
