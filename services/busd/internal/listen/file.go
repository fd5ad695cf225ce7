package listen

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// file is something that was made at a path: a socket, the file of a nonce
// or the directory around it.
type file struct {
	path     string
	dev, ino uint64
}

// made notes what stands at the path, right after it was put there.
func made(path string) (file, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return file{}, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return file{path, uint64(st.Dev), st.Ino}, nil
}

// remove takes it away, unless it is gone or another stands in its place.
func (f file) remove() error {
	now, err := made(f.path)
	if errors.Is(err, os.ErrNotExist) || err == nil && now != f {
		return nil
	}
	if err == nil {
		err = os.Remove(f.path)
	}
	if err != nil {
		return fmt.Errorf("remove what was made to listen: %w", err)
	}
	return nil
}
