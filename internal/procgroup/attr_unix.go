//go:build unix && !linux

package procgroup

import "syscall"

// Attr puts a child into a process group of its own, which keeps the terminal's
// Ctrl-C from it.
func Attr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
