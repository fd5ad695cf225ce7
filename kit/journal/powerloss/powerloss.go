// Package powerloss is a file system in memory whose power can fail: the model
// that tests of durable stores run against. It has files and their names; there
// are no folders but those in the names.
//
// Crash returns the disk as the next start finds it. Synced bytes and synced
// names are there. Of what was not synced chance decides:
//
//   - each creation, rename and removal since the last SyncDir of its folder
//     happened or did not, independently of the others;
//   - a file written to since its last Sync has any length between the old and
//     the new one, and of each page, what was written, what was there before,
//     zeros, garbage, or what was written up to some byte; what was written and
//     cut off again may be there too;
//   - after a Sync that failed, what it should have saved is forgotten by the
//     kernel: a later Sync succeeds without saving it.
//
// It is stricter than the file systems there are, on purpose.
package powerloss

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"quartet/kit/journal/disk"
)

// ErrCrashed is what everything on a disk returns whose power failed.
var ErrCrashed = errors.New("the power failed")

// Op is one step on a disk, for FS.Fail.
type Op struct {
	Kind string // "create", "open", "write", "sync", "truncate", "rename", "remove", "syncdir"
	Name string // of the file or, for "syncdir", of the folder
}

// FS is a disk. Create it with New.
type FS struct {
	mu       sync.Mutex
	names    map[string]*inode // what the process sees
	durable  map[string]*inode // what is safe
	steps    []step            // what happened to names and is not safe
	locks    map[string]bool
	capacity int64
	left     int // steps until the power fails, if limited
	limited  bool
	crashed  bool
	fail     func(Op) error
	ops      int
}

// step is a change of names in one folder: a name that went, one that came.
type step struct {
	dir     string
	removed string // "" for none
	added   string // "" for none
	node    *inode // of added
}

// New returns an empty disk.
func New() *FS {
	return &FS{names: map[string]*inode{}, durable: map[string]*inode{}, locks: map[string]bool{}}
}

// SetCapacity makes the disk that many bytes large; 0 is without bound. A write
// for which there is no room writes what fits and fails with ENOSPC.
func (f *FS) SetCapacity(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = bytes
}

// SetFail makes the steps for which fail returns an error fail with it. A failed
// write has written half. fail runs with the disk locked; nil ends it.
func (f *FS) SetFail(fail func(Op) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// StopAfter makes the power fail during the n-th step from now that changes
// something or syncs: it and all later ones return ErrCrashed.
func (f *FS) StopAfter(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.limited = n, true
}

// Ops returns how many steps there were that changed something or synced.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// Crash makes the power fail, unless it did, and returns the disk that the next
// start finds. Everything on the old one returns ErrCrashed from now on.
func (f *FS) Crash(rng *rand.Rand) *FS {
	f.mu.Lock()
	f.crashed = true
	f.mu.Unlock()
	return f.AfterCrash(rng)
}

// AfterCrash returns what Crash would, while this disk goes on.
func (f *FS) AfterCrash(rng *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := maps.Clone(f.durable)
	for _, s := range f.steps {
		if rng.IntN(2) == 0 {
			s.apply(names)
		}
	}
	next := New()
	copied := map[*inode]*inode{} // two names of one file stay that
	for _, name := range slices.Sorted(maps.Keys(names)) {
		node := names[name]
		if copied[node] == nil {
			copied[node] = node.crash(rng)
		}
		next.names[name] = copied[node]
	}
	next.durable = maps.Clone(next.names)
	return next
}

// Crashed says whether the power failed.
func (f *FS) Crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

// Clone returns a disk with the same files, all synced: what a kill of the
// process alone leaves behind.
func (f *FS) Clone() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := New()
	for name, node := range f.names {
		next.names[name] = newInode(node.data)
	}
	next.durable = maps.Clone(next.names)
	return next
}

func (s step) apply(names map[string]*inode) {
	if s.removed != "" {
		delete(names, s.removed)
	}
	if s.added != "" {
		names[s.added] = s.node
	}
}

// begin is called with mu held before each step. An error of it means that the
// step did not happen, unless it is ErrCrashed and now is true: then the power
// failed while it did.
func (f *FS) begin(op Op) (now bool, err error) {
	if f.crashed {
		return false, ErrCrashed
	}
	if op.Kind != "open" {
		f.ops++
		if f.limited {
			if f.left--; f.left <= 0 {
				f.crashed = true
				return true, ErrCrashed
			}
		}
	}
	if f.fail != nil {
		if err := f.fail(op); err != nil {
			return false, &fs.PathError{Op: op.Kind, Path: op.Name, Err: err}
		}
	}
	return false, nil
}

// change changes names, now and in the list of what is not safe.
func (f *FS) change(s step) {
	s.apply(f.names)
	f.steps = append(f.steps, s)
}

// Create implements disk.FS.
func (f *FS) Create(name string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.begin(Op{"create", name})
	if err != nil && !now {
		return nil, err
	}
	node := f.names[name]
	if node == nil {
		node = newInode(nil)
		f.change(step{dir: filepath.Dir(name), added: name, node: node})
	} else {
		node.truncate(0)
	}
	if err != nil {
		return nil, err
	}
	return &file{fs: f, node: node, name: name}, nil
}

// Open implements disk.FS.
func (f *FS) Open(name string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.begin(Op{"open", name}); err != nil {
		return nil, err
	}
	node := f.names[name]
	if node == nil {
		return nil, notExist("open", name)
	}
	return &file{fs: f, node: node, name: name}, nil
}

// Rename implements disk.FS.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.begin(Op{"rename", from})
	if err != nil && !now {
		return err
	}
	node := f.names[from]
	if node == nil {
		return notExist("rename", from)
	}
	if filepath.Dir(from) != filepath.Dir(to) {
		return &fs.PathError{Op: "rename", Path: to, Err: syscall.EXDEV}
	}
	f.change(step{dir: filepath.Dir(from), removed: from, added: to, node: node})
	return err
}

// Remove implements disk.FS.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.begin(Op{"remove", name})
	if err != nil && !now {
		return err
	}
	if f.names[name] == nil {
		return notExist("remove", name)
	}
	f.change(step{dir: filepath.Dir(name), removed: name})
	return err
}

// List implements disk.FS.
func (f *FS) List(dir string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return nil, ErrCrashed
	}
	var names []string
	for name := range f.names {
		if filepath.Dir(name) == filepath.Clean(dir) {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// MkdirAll implements disk.FS.
func (f *FS) MkdirAll(string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return ErrCrashed
	}
	return nil
}

// SyncDir implements disk.FS.
func (f *FS) SyncDir(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir = filepath.Clean(dir)
	if _, err := f.begin(Op{"syncdir", dir}); err != nil {
		return err
	}
	f.steps = slices.DeleteFunc(f.steps, func(s step) bool {
		if s.dir != dir {
			return false
		}
		s.apply(f.durable)
		return true
	})
	return nil
}

// Lock implements disk.FS.
func (f *FS) Lock(name string) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crashed {
		return nil, ErrCrashed
	}
	if f.locks[name] {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: disk.ErrLocked}
	}
	f.locks[name] = true
	return lock{f, name}, nil
}

type lock struct {
	fs   *FS
	name string
}

func (l lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	delete(l.fs.locks, l.name)
	return nil
}

// free is how many bytes fit on the disk. Called with mu held.
func (f *FS) free() int64 {
	left := f.capacity
	seen := map[*inode]bool{}
	for _, node := range f.names {
		if !seen[node] {
			seen[node] = true
			left -= int64(len(node.data))
		}
	}
	return max(left, 0)
}

func notExist(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}
