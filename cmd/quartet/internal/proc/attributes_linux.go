package proc

import "syscall"

// attributes gives the child its own process group and lets the kernel kill it
// when the launcher is gone.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
