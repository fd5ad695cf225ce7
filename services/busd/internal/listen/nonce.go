package listen

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// nonceSize is how many bytes a client of nonce-tcp sends before all else.
const nonceSize = 16

// nonce is a secret in a file: who can read it may connect.
type nonce struct {
	bytes []byte
	path  string
	made  []file // in the order of removal
}

// newNonce makes a nonce and its file. Without a path it makes a directory
// for it, closed to others, where they belong. A file that is there already
// is refused, for others may know what is in it.
func newNonce(path string, getenv func(string) string) (*nonce, error) {
	n := &nonce{bytes: make([]byte, nonceSize), path: path}
	rand.Read(n.bytes) // crypto/rand never fails: it ends the program instead
	var dir []file
	if path == "" {
		made, err := nonceDir(getenv)
		if err != nil {
			return nil, err
		}
		dir = []file{made}
		n.path = filepath.Join(made.path, "nonce")
	}
	if err := n.write(); err != nil {
		for _, f := range dir {
			err = errors.Join(err, f.remove())
		}
		return nil, err
	}
	n.made = append(n.made, dir...)
	return n, nil
}

func nonceDir(getenv func(string) string) (file, error) {
	parent := "/tmp"
	for _, name := range []string{"TMPDIR", "XDG_RUNTIME_DIR"} {
		if value := getenv(name); filepath.IsAbs(value) {
			parent = value
		}
	}
	dir, err := os.MkdirTemp(parent, "dbus-nonce-")
	if err != nil {
		return file{}, fmt.Errorf("make a directory for the nonce: %w", err)
	}
	return made(dir)
}

// write makes the file. os.O_EXCL follows no symbolic link.
func (n *nonce) write() error {
	path, err := filepath.Abs(n.path)
	if err != nil {
		return err
	}
	n.path = path
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the file of the nonce: %w", err)
	}
	own, err := made(path)
	if err == nil {
		n.made = []file{own}
		_, err = f.Write(n.bytes)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the nonce: %w", err), n.remove())
	}
	return nil
}

func (n *nonce) remove() (err error) {
	for _, f := range n.made {
		err = errors.Join(err, f.remove())
	}
	return err
}
