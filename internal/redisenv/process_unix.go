//go:build unix && !linux

package redisenv

import (
	"os/exec"
	"syscall"
)

// ownLifetime keeps the terminal's Ctrl-C away from the child: the server has to live until we have cleaned up.
func ownLifetime(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
