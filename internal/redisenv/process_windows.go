package redisenv

import (
	"os"
	"os/exec"
	"syscall"
)

// ownLifetime keeps the console's Ctrl-C away from the child: the server has to live until we have cleaned up.
func ownLifetime(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate ends the process; there is no polite way to ask here.
func terminate(p *os.Process) { _ = p.Kill() }
