package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// WatchOptions is what a Watcher needs.
type WatchOptions struct {
	// Quiet is how long it has to be quiet behind a change until Changed is
	// called; a package manager writes many files. After ten times that it
	// is called even if the noise goes on.
	Quiet time.Duration
	// Changed is told which of the watched paths changed, sorted. Run calls
	// it with its own ctx and waits for it.
	Changed func(ctx context.Context, paths []string)
	Log     *slog.Logger
}

const (
	// nameMask is what changes where a path leads to. It is all that is
	// asked of directories far above, such as a home directory, where much
	// is written that is no concern of a bus.
	nameMask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	// contentMask is what changes a file, or what a directory holds.
	contentMask = nameMask | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB
)

// Watcher tells of changes of files and in directories (not below them),
// also of those that are not there yet. There is no limit of its own to
// their number.
type Watcher struct {
	opt  WatchOptions
	file *os.File
	seen atomic.Bool // changes were read that Changed was not told of

	mu      sync.Mutex         // guards what follows
	paths   []string           // watched
	watches map[int32]interest // by watch descriptor
}

// interest says why a directory is watched.
type interest struct {
	whole []string            // watched paths that are this directory
	names map[string][]string // watched paths that an entry of that name leads to
}

// NewWatcher opens a watcher of nothing. Whoever gets one calls Run.
func NewWatcher(o WatchOptions) (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open inotify (the limits are fs.inotify.max_user_instances and open files): %w", err)
	}
	return &Watcher{opt: o, file: os.NewFile(uintptr(fd), "inotify")}, nil
}

// Pending says whether something has changed that Changed was not told of yet.
// It never waits.
func (w *Watcher) Pending() bool {
	if w.seen.Load() {
		return true
	}
	conn, err := w.file.SyscallConn()
	if err != nil {
		return false // it is closed
	}
	ready := false
	_ = conn.Control(func(fd uintptr) { // an error means the same
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		ready = err == nil && n > 0
	})
	return ready
}

// Set replaces the watched paths. Changes after it returns are told of.
func (w *Watcher) Set(paths []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paths = w.paths[:0]
	for _, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("watch %s: %w", path, err)
		}
		w.paths = append(w.paths, absolute)
	}
	return w.arm()
}

// arm watches what has to be watched as the file system is now. Watching a
// directory twice gives the same descriptor, so it can be repeated at will.
// The caller holds mu. One directory that can't be watched hinders no other.
func (w *Watcher) arm() error {
	old := w.watches
	w.watches = make(map[int32]interest, len(old))
	var faults []error
	for _, path := range w.paths {
		if err := w.armPath(path); err != nil {
			faults = append(faults, fmt.Errorf("watch %s: %w", path, err))
		}
	}
	conn, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	err = conn.Control(func(fd uintptr) {
		for wd := range old {
			if _, wanted := w.watches[wd]; !wanted {
				_, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) // EINVAL: it went with its directory
			}
		}
	})
	return errors.Join(append(faults, err)...)
}

// armPath watches every directory above a path, for the next part of it:
// they show that it appears, is replaced at any height, or, when it is a
// file, is written. Then it watches the path, if that is a directory. It
// goes down, so that nothing appears unseen in between.
func (w *Watcher) armPath(path string) error {
	dir, mask := "/", uint32(nameMask)
	for part := range strings.SplitSeq(path[1:], "/") {
		below := filepath.Join(dir, part)
		if below == path {
			mask = contentMask
		}
		err := w.add(dir, part, path, mask)
		switch {
		case isAbsent(err):
			return nil
		case err != nil && !errors.Is(err, unix.EACCES): // what lies below may be readable
			return err
		}
		dir = below
	}
	if !isDir(path) {
		return nil
	}
	if err := w.add(path, "", path, contentMask); err != nil && !isAbsent(err) {
		return err
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isAbsent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// add watches a directory for the sake of a path.
func (w *Watcher) add(dir, name, path string, mask uint32) error {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	wd := -1
	controlErr := conn.Control(func(fd uintptr) {
		wd, err = unix.InotifyAddWatch(int(fd), dir, mask|unix.IN_MASK_ADD|unix.IN_ONLYDIR)
	})
	if err := errors.Join(controlErr, err); err != nil {
		if errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("the user's inotify watches are used up (fs.inotify.max_user_watches): %w", err)
		}
		return err
	}
	in := w.watches[int32(wd)]
	if name == "" {
		in.whole = addOnce(in.whole, path)
	} else {
		if in.names == nil {
			in.names = make(map[string][]string)
		}
		in.names[name] = addOnce(in.names[name], path)
	}
	w.watches[int32(wd)] = in
	return nil
}

func addOnce(paths []string, path string) []string {
	if slices.Contains(paths, path) {
		return paths
	}
	return append(paths, path)
}
