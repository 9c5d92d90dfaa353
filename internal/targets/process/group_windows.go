package process

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// groupAttr keeps the console's Ctrl-C from the child: the harness ends it.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup does nothing: Windows has no polite signal for a process
// without a window.
func terminateGroup(*os.Process) {}

// killGroup ends the process and what it started, as far as taskkill sees it.
func killGroup(p *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run()
	_ = p.Kill()
}
