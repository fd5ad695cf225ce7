package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/confine"
)

// wantedFiles is how many files the bus wants to have open, as dbus-daemon.
const wantedFiles = 65536

// raiseFileLimit raises the limit of open files, where that is allowed. Package
// syscall is passed by: it would forget the limit that programs the bus starts
// are to have.
func raiseFileLimit(log *slog.Logger) {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil || now.Cur >= wantedFiles {
		return
	}
	for _, want := range []unix.Rlimit{{Cur: wantedFiles, Max: max(wantedFiles, now.Max)}, {Cur: min(wantedFiles, now.Max), Max: now.Max}} {
		_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&want)), 0, 0, 0)
		if errno == 0 {
			break
		}
		log.Info("the limit of open files stays lower", slog.Uint64("wanted", wantedFiles), slog.Uint64("hard", now.Max), slog.Any("err", errno))
	}
}

// affordable lowers what one user may have of descriptors where the bus may not
// open as many files as it wants: to a quarter of them, as it is of those.
func affordable(q bus.Quota, log *slog.Logger) bus.Quota {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil || now.Cur >= wantedFiles || q.FDs <= int64(now.Cur/4) {
		return q
	}
	q.FDs = int64(now.Cur / 4)
	log.Info("the limit of open files bounds BUSD_USER_FDS", slog.Int64("user_fds", q.FDs))
	return q
}

// newUser is whom the bus becomes after its start; nil is nobody else.
type newUser struct {
	name     string
	uid, gid int
	groups   []int
}

// lookUp finds the user of a <user>.
func lookUp(name string) (*user.User, error) {
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		return nil, fmt.Errorf("<user>%s</user>: there is no such user here", name)
	}
	return u, nil
}

// newUser looks up <user>.
func (d *daemon) newUser() (*newUser, error) {
	name := d.loaded.Config.User
	if name == "" {
		return nil, nil
	}
	u, err := lookUp(name)
	if err != nil {
		return nil, err
	}
	to := &newUser{name: name}
	if to.uid, err = strconv.Atoi(u.Uid); err == nil {
		to.gid, err = strconv.Atoi(u.Gid)
	}
	if err != nil {
		return nil, fmt.Errorf("<user>%s</user>: %w", name, err)
	}
	if to.uid == os.Geteuid() {
		return nil, nil
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("<user>%s</user>: only root can become another user: start the bus as root or as %s", name, name)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("<user>%s</user>: look up groups: %w", name, err)
	}
	for _, id := range ids {
		gid, err := strconv.Atoi(id)
		if err != nil {
			return nil, fmt.Errorf("<user>%s</user>: group %s: %w", name, id, err)
		}
		to.groups = append(to.groups, gid)
	}
	return to, nil
}

// credential is the user for a process that is started; nil is our own.
func (to *newUser) credential() *syscall.Credential {
	if to == nil {
		return nil
	}
	c := &syscall.Credential{Uid: uint32(to.uid), Gid: uint32(to.gid)}
	for _, gid := range to.groups {
		c.Groups = append(c.Groups, uint32(gid))
	}
	return c
}

// become makes all threads that user's, for good.
func (to *newUser) become() error {
	if to == nil {
		return nil
	}
	if err := syscall.Setgroups(to.groups); err != nil {
		return fmt.Errorf("become %s: setgroups: %w", to.name, err)
	}
	if err := syscall.Setresgid(to.gid, to.gid, to.gid); err != nil {
		return fmt.Errorf("become %s: setresgid: %w", to.name, err)
	}
	if err := syscall.Setresuid(to.uid, to.uid, to.uid); err != nil {
		return fmt.Errorf("become %s: setresuid: %w", to.name, err)
	}
	return nil
}

// harden gives up what an unprivileged bus never needs, on all threads. It
// binds the bus alone: programs are started by a process of their own, which
// must not be started again from here on. No step may fail a start: kernels
// and sandboxes are many.
func (d *daemon) harden() {
	if os.Geteuid() == 0 {
		return
	}
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
	if errno != 0 {
		d.log.Debug("ambient capabilities not cleared", slog.Any("err", errno))
	}
	if err := confine.Apply(); err != nil {
		d.log.Info("the bus is not confined", slog.Any("err", err))
	}
	d.programs.spawner.Seal()
}
