//go:build unix

package procgroup

import (
	"os"
	"syscall"
)

// terminate asks the process and what it started to end, where there is a way.
func terminate(p *os.Process) bool { return syscall.Kill(-p.Pid, syscall.SIGTERM) == nil }

// Kill ends the process and what it started, the process itself gone or not.
func Kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
