package procgroup

import "syscall"

// Attr puts a child into a process group of its own, which keeps the terminal's
// Ctrl-C from it, and has the kernel end it when the thread that starts it ends,
// so that nothing is left if this process is killed.
func Attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
