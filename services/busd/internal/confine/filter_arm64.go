package confine

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// refusedHere is what only this kind of machine has.
var refusedHere = []uint32{unix.SYS_KEXEC_FILE_LOAD}
