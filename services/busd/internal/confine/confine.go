// Package confine takes from a process what a message bus never needs of the
// kernel, for good and on all its threads: to run programs, to become another
// process or look into one, to change mounts, namespaces, modules, clocks. What
// somebody makes the bus do who has found a fault in it ends there.
//
// The filter names what is refused and lets all else pass: the calls that a Go
// runtime and a C library make differ from version to version, and a bus that
// dies of a new one serves nobody.
package confine

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Apply sets no_new_privs and the filter. Where the kernel takes no filter it
// returns an error, and has set no_new_privs as far as it could.
func Apply() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("no_new_privs: %w", errno)
	}
	program := filter()
	if len(program) == 0 {
		return errors.New("filter of system calls: there is none for " + runtime.GOARCH)
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// All threads get this thread's filters and its no_new_privs with them.
	thread, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(program)
	switch {
	case errno == 0 && thread == 0:
		return nil
	case errno == 0:
		return fmt.Errorf("filter of system calls: thread %d has another", thread)
	}
	// ENOTSUP in a build with cgo.
	_, _, other := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if other != 0 {
		return fmt.Errorf("filter of system calls: %w; no_new_privs: %w", errno, other)
	}
	return fmt.Errorf("filter of system calls: %w", errno)
}
