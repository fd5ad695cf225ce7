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
// returns an error, and has set no_new_privs alone, if that could be had.
func Apply() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("no_new_privs: %w", errno)
	}
	// All threads get this thread's filter, and its no_new_privs with it.
	err := install(filter())
	if err == nil {
		return nil
	}
	err = fmt.Errorf("filter of system calls: %w", err)
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 { // ENOTSUP in a build with cgo
		err = fmt.Errorf("%w; no_new_privs: %w", err, errno)
	}
	return err
}

// install binds all threads. Older kernels would slow the whole process down for
// the sake of programs that run code of strangers, unless they are told not to.
func install(program []unix.SockFilter) error {
	if len(program) == 0 {
		return errors.New("there is none for " + runtime.GOARCH)
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	var errno syscall.Errno
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, unix.SECCOMP_FILTER_FLAG_TSYNC} {
		var thread uintptr
		thread, _, errno = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
		switch {
		case errno == 0 && thread == 0:
			return nil
		case errno == 0:
			return fmt.Errorf("thread %d has another", thread)
		case errno != unix.EINVAL:
			return errno
		}
	}
	return errno
}
