package keyring

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxFile is the largest file that is read, in bytes: thousands of
	// cookies, while a server that prunes has two.
	maxFile = 256 << 10

	// maxKept is how many cookies a file may hold. More can only come from
	// something that renews without end, and would slow down every client.
	maxKept = 256
)

// entry is one line of a file.
type entry struct {
	id     uint32
	made   time.Time // whole seconds
	secret string    // hexadecimal digits
}

// dir is the directory, held open: what it is checked for cannot change
// under the names that are opened in it.
type dir struct {
	fd   int
	path string
}

func openDir(path string) (*dir, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("make the directory of cookies: %w", err)
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open(path, flags, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is not a directory; links are not followed", path)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	d := &dir{fd: fd, path: path}
	if err := private(fd, path, unix.S_IFDIR); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *dir) close() { unix.Close(d.fd) }

// private says that what is open is of the wanted kind, belongs to this
// process's user and is closed to all others.
func private(fd int, path string, kind uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != kind: // of a file: only a directory is opened as one
		return fmt.Errorf("%s is no plain file: remove it", path)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, and not to %d as it must", path, st.Uid, os.Geteuid())
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%s is open to others (mode %04o): take it from them (chmod go=), and remove the cookies they may have read", path, st.Mode&0o7777)
	}
	return nil
}

// read returns the cookies of a file, which may be missing. Lines that are
// not cookies are left out, and are gone once the file is replaced.
func (d *dir) read(name string) ([]entry, error) {
	path := d.path + "/" + name
	// O_NONBLOCK: a fifo in the file's place must not hold the caller up.
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link, which is not followed", path)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := private(fd, path, unix.S_IFREG); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes: remove it", path, maxFile)
	}
	return parse(text), nil
}

// parse reads lines of number, time and secret. Of two cookies with one
// number only the first counts.
func parse(text []byte) []entry {
	var all []entry
	seen := map[uint32]bool{}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			continue
		}
		id, err1 := strconv.ParseUint(string(fields[0]), 10, 31)
		made, err2 := strconv.ParseInt(string(fields[1]), 10, 64)
		_, err3 := hex.DecodeString(string(fields[2]))
		if err1 != nil || err2 != nil || err3 != nil || made < 0 || seen[uint32(id)] {
			continue
		}
		seen[uint32(id)] = true
		all = append(all, entry{uint32(id), time.Unix(made, 0), string(fields[2])})
	}
	return all
}

// replace writes the file anew, whole: clients read it without a lock.
func (d *dir) replace(name string, entries []entry) error {
	if excess := len(entries) - maxKept; excess > 0 {
		entries = entries[excess:]
	}
	var text []byte
	for _, e := range entries {
		text = fmt.Appendf(text, "%d %d %s\n", e.id, e.made.Unix(), e.secret)
	}
	temporary := name + ".tmp-" + random(8)
	path := d.path + "/" + temporary
	fd, err := unix.Openat(d.fd, temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		if err = unix.Renameat(d.fd, temporary, d.fd, name); err != nil {
			err = fmt.Errorf("put %s in place of %s: %w", path, name, err)
		}
	}
	if err != nil {
		unix.Unlinkat(d.fd, temporary, 0)
	}
	return err
}
