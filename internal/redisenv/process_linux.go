package redisenv

import (
	"os/exec"
	"syscall"
)

// ownLifetime makes the kernel end the child when we die, however we die, and keeps the terminal's Ctrl-C away from it:
// the server has to live until we have cleaned up.
func ownLifetime(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
