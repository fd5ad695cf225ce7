//go:build unix && !linux

package proc

import "syscall"

// attributes gives the child its own process group. Only Linux can tie a
// child's life to its parent's.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
