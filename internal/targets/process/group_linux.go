package process

import "syscall"

// groupAttr puts the child into a process group of its own, and has the kernel
// end it when the thread that starts it ends, so that nothing is left if this
// process is killed.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
