package daemon

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// giveBack returns memory that only the start needed: garbage, and pages of the
// program's files, which stay in the kernel's cache and are mapped again when
// they are used.
func giveBack() {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range unwritten(text) {
		// A page that stays is no fault.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// unwritten finds in an smaps of proc(5) the mappings of files that cannot be
// written to and never were: what a linker has changed there would be lost.
func unwritten(smaps []byte) []mapping {
	var found []mapping
	var m mapping
	candidate := false
	for line := range strings.Lines(string(smaps)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			_, err := fmt.Sscanf(fields[0], "%x-%x", &m.from, &m.to)
			candidate = err == nil && fields[1][1] != 'w' && len(fields) >= 6 && fields[5][0] == '/'
		case candidate && len(fields) == 3 && fields[0] == "Anonymous:":
			if fields[1] == "0" {
				found = append(found, m)
			}
			candidate = false
		}
	}
	return found
}
