package powerloss

import (
	"io"
	"io/fs"
	"syscall"
)

// file is an open file of a disk.
type file struct {
	fs     *FS
	node   *inode
	name   string
	closed bool // guarded by fs.mu
}

// usable is called with fs.mu held.
func (f *file) usable(op string) error {
	if f.closed {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrClosed}
	}
	return nil
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("read"); err != nil {
		return 0, err
	}
	if f.fs.crashed {
		return 0, ErrCrashed
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	now, err := f.fs.begin(Op{"write", f.name})
	switch {
	case err != nil && now: // it may have arrived, the crash decides
	case err != nil && f.fs.crashed:
		return 0, err
	case err != nil:
		p = p[:len(p)/2]
	case f.fs.capacity > 0:
		more := max(off+int64(len(p))-int64(len(f.node.data)), 0)
		if lacks := more - f.fs.free(); lacks > 0 {
			p = p[:int64(len(p))-min(lacks, int64(len(p)))]
			err = &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
		}
	}
	f.node.write(p, int(off))
	if err != nil {
		return len(p), err
	}
	return len(p), nil
}

func (f *file) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("truncate"); err != nil {
		return err
	}
	now, err := f.fs.begin(Op{"truncate", f.name})
	if err == nil || now {
		f.node.truncate(int(size))
	}
	return err
}

func (f *file) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("stat"); err != nil {
		return 0, err
	}
	if f.fs.crashed {
		return 0, ErrCrashed
	}
	return int64(len(f.node.data)), nil
}

func (f *file) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("sync"); err != nil {
		return err
	}
	if _, err := f.fs.begin(Op{"sync", f.name}); err != nil {
		if !f.fs.crashed {
			f.node.failSync()
		}
		return err
	}
	f.node.sync()
	return nil
}

func (f *file) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("close"); err != nil {
		return err
	}
	f.closed = true
	return nil
}
