//go:build unix && !linux

package process

import "syscall"

// groupAttr puts the child into a process group of its own.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
