package confine

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// refusedHere is what only this kind of machine has.
var refusedHere = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}
