// Package disk is the part of a file system that this project's own stores
// write through, small enough to be put in place of the real one.
//
// A test that kills a process cannot show a missing sync: what was written is
// still in the kernel. So the stores take an FS. OS is the real one;
// kit/journal/powerloss is one in memory whose power can fail.
//
// What the stores may rely on is what an FS promises here and no more. Bytes
// written to a File are safe from the end of the process at once, from a loss of
// power only after Sync. A name that was created, renamed or removed is safe
// from a loss of power only after SyncDir of its folder; until then each of
// these steps may have happened or not, by itself, and syncing the file does not
// help. A rename is atomic.
package disk

import (
	"errors"
	"io"
)

// ErrLocked is returned by FS.Lock for a file that somebody holds.
var ErrLocked = errors.New("locked by somebody else")

// An FS is a file system. All its methods may be called by any number of
// goroutines. Names are paths as the operating system has them. Errors are those
// of package os and errno values: errors.Is knows fs.ErrNotExist, syscall.ENOSPC.
type FS interface {
	// Create opens a new file for reading and writing, or empties the one that
	// has this name. Nobody but the owner may read it.
	Create(name string) (File, error)

	// Open opens a file that exists for reading and writing.
	Open(name string) (File, error)

	// Rename gives a file another name in the same folder, in place of the
	// file that has it.
	Rename(from, to string) error

	Remove(name string) error

	// List returns the names in a folder, without the folder, in order.
	List(dir string) ([]string, error)

	// MkdirAll makes a folder and those above it. Those it had to make are
	// safe from a loss of power when it returns.
	MkdirAll(dir string) error

	// SyncDir returns when all that happened to the names in a folder is safe
	// from a loss of power.
	SyncDir(dir string) error

	// Lock holds the file of that name, made if need be, until it is closed
	// or the process ends. It does not wait: while somebody holds it, in this
	// process too, the error is ErrLocked.
	Lock(name string) (io.Closer, error)
}

// A File is open for reading and writing at any offset.
type File interface {
	// ReadAt and WriteAt are those of io.ReaderAt and io.WriterAt. A write
	// that fails may have written a part.
	io.ReaderAt
	io.WriterAt
	io.Closer

	Truncate(size int64) error
	Size() (int64, error)

	// Sync returns when the content is safe from a loss of power. After it
	// failed nothing is known about what was written since the Sync before,
	// and a later Sync that succeeds says nothing about that either: the
	// kernel may have given up on those pages.
	Sync() error
}
