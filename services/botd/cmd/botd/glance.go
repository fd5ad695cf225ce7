package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"quartet/kit/journal/disk"
	"quartet/kit/timing"
	"quartet/services/botd/internal/config"
)

// lookAtState reads BOTD_STATE_DIR as a start would, changes nothing there, and
// says in what state it is. An error is what a start would fail with; that a bot
// has the folder open is none.
func lookAtState(cfg config.Config, in *timing.Instruments) (string, error) {
	if _, err := os.Stat(cfg.StateDir); errors.Is(err, fs.ErrNotExist) {
		if err := (glance{}).MkdirAll(cfg.StateDir); err != nil {
			return "", fmt.Errorf("BOTD_STATE_DIR: %w", err)
		}
		return "it is not there yet; a start makes it", nil
	}
	kept, err := openState(glance{}, cfg, in)
	if errors.Is(err, disk.ErrLocked) {
		return "a bot that runs has it open", nil
	}
	if err != nil {
		return "", err
	}
	defer kept.close() // nothing was written
	return fmt.Sprintf("it can be read and written, and nobody uses it; messages that wait there for an answer: %d", kept.ledger.Recovered().Waiting), nil
}

// glance is the machine's file system as who only looks sees it: what would
// change it does as if. What is made or written is not there when it is read, so
// it serves who opens a journal and no more.
type glance struct{ disk.OS }

// Create implements disk.FS.
func (glance) Create(string) (disk.File, error) { return unwritten{nothing{}}, nil }

// Open implements disk.FS.
func (g glance) Open(name string) (disk.File, error) {
	f, err := g.OS.Open(name)
	if err != nil {
		return nil, err
	}
	return unwritten{f}, nil
}

// Rename, Remove and SyncDir implement disk.FS.
func (glance) Rename(string, string) error { return nil }
func (glance) Remove(string) error         { return nil }
func (glance) SyncDir(string) error        { return nil }

// List implements disk.FS. A folder that is still to be made is empty.
func (g glance) List(dir string) ([]string, error) {
	names, err := g.OS.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// MkdirAll implements disk.FS. It finds out whether files can be made there, or
// the folder, or those above it.
func (glance) MkdirAll(dir string) error {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && !info.IsDir():
			err = &fs.PathError{Op: "mkdir", Path: d, Err: syscall.ENOTDIR}
		case err == nil:
			const mayWrite, mayEnter = 2, 1
			if err = syscall.Access(d, mayWrite|mayEnter); err != nil {
				err = &fs.PathError{Op: "write to", Path: d, Err: err}
			}
		}
		return err
	}
}

// Lock implements disk.FS. It lets go of the lock at once: a bot that starts
// meanwhile must get it.
func (glance) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(nil), nil
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	f.Close() // nothing was written
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: disk.ErrLocked}
	}
	return io.NopCloser(nil), err
}

// unwritten is a file that only looks as if it could be written.
type unwritten struct{ disk.File }

func (unwritten) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (unwritten) Truncate(int64) error                   { return nil }
func (unwritten) Sync() error                            { return nil }

// nothing is a file that was just made.
type nothing struct{ disk.File }

func (nothing) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(nil).ReadAt(p, off) }
func (nothing) Size() (int64, error)                    { return 0, nil }
func (nothing) Close() error                            { return nil }
