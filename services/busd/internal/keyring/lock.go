package keyring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// patience is how long a lock is waited for that does not change. Its
	// holder has a file of a few lines to write: when it has not done so
	// then, it has died.
	patience = 8 * time.Second

	retry = 50 * time.Millisecond
)

// lock creates name.lock, and returns what removes it. Locks of the kernel
// would not work on every network file system, and libdbus would not see
// them. A lock that one and the same holder has for longer than patience is
// stale and is removed.
func (d *dir) lock(ctx context.Context, name string) (unlock func(), err error) {
	name += ".lock"
	var holder unix.Stat_t
	var since time.Time
	for {
		fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err == nil {
			return d.unlocker(fd, name), nil
		}
		if !errors.Is(err, unix.EEXIST) {
			return nil, &os.PathError{Op: "create", Path: d.path + "/" + name, Err: err}
		}
		now, held := d.holder(name)
		switch {
		case !held: // it has just been given up
		case !same(now, holder):
			holder, since = now, time.Now()
		case time.Since(since) >= patience:
			if err := unix.Unlinkat(d.fd, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
				return nil, fmt.Errorf("remove the stale lock %s/%s: %w", d.path, name, err)
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s/%s: %w", d.path, name, context.Cause(ctx))
		case <-time.After(retry):
		}
	}
}

func (d *dir) holder(name string) (st unix.Stat_t, held bool) {
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err == nil
}

// unlocker removes the lock unless it was taken for stale meanwhile and is
// another's. The file is kept open so that its number is not given again.
func (d *dir) unlocker(fd int, name string) func() {
	var own unix.Stat_t
	err := unix.Fstat(fd, &own)
	return func() {
		if now, held := d.holder(name); held && (err != nil || same(now, own)) {
			unix.Unlinkat(d.fd, name, 0)
		}
		unix.Close(fd)
	}
}

// same says that two looks at the name saw one file.
func same(a, b unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Mtim == b.Mtim
}
