package bus

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// credentials are what the kernel says of a peer. Each of them may be missing:
// the peer may have gone since, the kernel may be older, and neither is a
// reason to fail.
type credentials struct {
	known bool
	uid   uint32
	gid   uint32
	pid   int32 // 0 where the peer is in another pid namespace
}

func peerCredentials(fd int) credentials {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return credentials{}
	}
	return credentials{known: true, uid: c.Uid, gid: c.Gid, pid: c.Pid}
}

// groups are all groups of the peer's process as it connected, its primary one
// among them, sorted, each once. Nil means unknown.
// They are in b.users.gids until the next call.
func (b *Bus) groups(p *Peer) []uint32 {
	if !p.who.known || !p.via.Unix { // a cookie proves a user and no group
		return nil
	}
	gids := b.users.gids[:]
	size := uint32(4 * len(gids))
	errno := getsockopt(p.fd, unix.SO_PEERGROUPS, unsafe.Pointer(&gids[0]), &size)
	if errno == unix.ERANGE { // size says how many there are
		gids = make([]uint32, size/4)
		errno = getsockopt(p.fd, unix.SO_PEERGROUPS, unsafe.Pointer(&gids[0]), &size)
	}
	if errno != 0 {
		size = 0
	}
	gids = append(gids[:size/4], p.who.gid)
	slices.Sort(gids)
	return slices.Compact(gids)
}

func getsockopt(fd, option int, value unsafe.Pointer, size *uint32) unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, uintptr(option), uintptr(value), uintptr(unsafe.Pointer(size)), 0)
	return errno
}

// securityLabel is what a security module calls the peer, "" without one.
func (p *Peer) securityLabel() string {
	if !p.via.Unix {
		return ""
	}
	s, err := unix.GetsockoptString(p.fd, unix.SOL_SOCKET, unix.SO_PEERSEC)
	if err != nil {
		return ""
	}
	return strings.TrimRight(s, "\x00")
}

// soPeerPIDFD is SO_PEERPIDFD of Linux 6.5.
const soPeerPIDFD = 77

// processFD is a descriptor of the peer's process, -1 where there is none to
// be had. The caller closes it.
func (p *Peer) processFD() int {
	if !p.via.Unix {
		return -1
	}
	fd, err := unix.GetsockoptInt(p.fd, unix.SOL_SOCKET, soPeerPIDFD)
	if err != nil {
		return -1
	}
	return fd
}

// login describes a peer in texts of refusals, as dbus-daemon does. It is looked
// up once: who is refused again and again would have /proc read each time.
func (p *Peer) login() string {
	if !p.who.known || p.loggedIn != "" {
		return p.loggedIn
	}
	s := fmt.Sprintf("uid=%d pid=%d", p.who.uid, p.who.pid)
	if comm, err := commOf(p.who.pid); err == nil {
		s += fmt.Sprintf(" comm=%q", comm)
	}
	p.loggedIn = s
	return s
}

// loggedNames is how many of a peer's names a line of the log has at most: it
// may own thousands.
const loggedNames = 16

// LogValue is the peer for logs: enough to find the program.
func (p *Peer) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("name", p.label())}
	if p.who.known {
		attrs = append(attrs, slog.Uint64("uid", uint64(p.who.uid)), slog.Int("pid", int(p.who.pid)), slog.String("program", p.program()))
	}
	if len(p.owned) > 0 {
		attrs = append(attrs, slog.Any("owns", p.owned[:min(len(p.owned), loggedNames)]))
	}
	return slog.GroupValue(attrs...)
}

// program is the command of a peer's process, for logs.
func (p *Peer) program() string {
	comm, err := commOf(p.who.pid)
	if err != nil {
		return fmt.Sprintf("unknown (%v)", err)
	}
	return comm
}

func commOf(pid int32) (string, error) {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(comm)), err
}
