package procgroup

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Attr keeps the console's Ctrl-C from a child.
func Attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate does nothing: Windows has no polite signal for a process without a
// window.
func terminate(*os.Process) bool { return false }

// Kill ends the process and what it started, as far as taskkill sees it.
func Kill(p *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run()
	_ = p.Kill()
}
