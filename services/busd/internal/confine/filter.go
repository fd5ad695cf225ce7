//go:build amd64 || arm64

package confine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// hot are what a bus does all day, let pass before all else is looked at.
var hot = []uint32{unix.SYS_EPOLL_PWAIT, unix.SYS_RECVMSG, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_FUTEX}

// refused are calls that a bus never makes, on every kind of machine.
var refused = []uint32{
	// Programs. New processes are a matter of clone's flags, see filter.
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// What the process sees of the machine.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_OPEN_BY_HANDLE_AT,
	// The machine itself.
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	// Where faults of kernels have been found, and a bus has no use for it.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_PERSONALITY,
}

// namespaces are the flags of clone that make some.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Where the parts of a call are (struct seccomp_data of linux/seccomp.h; the
// machines that we know are little-endian).
const (
	atCall   = 0
	atArch   = 4
	atFlags  = 16         // the lower half of the first argument
	moreBits = 0x40000000 // set in the numbers of x32, which are others for the same calls
)

// filter is the program that decides (seccomp(2)).
func filter() []unix.SockFilter {
	var p []unix.SockFilter
	load := func(at uint32) { p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}) }
	// when ends it with a verdict if a test holds of what was loaded, or if not.
	when := func(test uint16, value, verdict uint32) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jf: 1, K: value}, end(verdict))
	}
	unless := func(test uint16, value, verdict uint32) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: 1, K: value}, end(verdict))
	}
	load(atArch) // a call of another kind has other numbers
	unless(unix.BPF_JEQ, arch, refuse(unix.EPERM))
	load(atCall)
	for _, call := range hot {
		when(unix.BPF_JEQ, call, unix.SECCOMP_RET_ALLOW)
	}
	when(unix.BPF_JGE, moreBits, refuse(unix.EPERM))
	for _, call := range append(refused, refusedHere...) {
		when(unix.BPF_JEQ, call, refuse(unix.EPERM))
	}
	// A new thread is made, a new process is not. The flags of clone3 cannot be
	// seen, and whoever hears that there is none goes on with clone.
	when(unix.BPF_JEQ, unix.SYS_CLONE3, refuse(unix.ENOSYS))
	unless(unix.BPF_JEQ, unix.SYS_CLONE, unix.SECCOMP_RET_ALLOW)
	load(atFlags)
	when(unix.BPF_JSET, namespaces, refuse(unix.EPERM))
	unless(unix.BPF_JSET, unix.CLONE_THREAD, refuse(unix.EPERM))
	return append(p, end(unix.SECCOMP_RET_ALLOW))
}

func end(verdict uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
}

func refuse(why syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(why) }
