//go:build unix

package redisenv

import (
	"os"
	"syscall"
)

// terminate asks the process to end.
func terminate(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }
