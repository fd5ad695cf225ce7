package signalrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"quartet/kit/journal/disk"
	"quartet/services/botd/internal/transport"
)

const (
	// spoolFolder is ours inside the given folder, so that what lies beside it
	// is never touched.
	spoolFolder = "botd-spool"

	// lockFile is held in it as long as it is ours. No picture has this name:
	// each has a number in its own.
	lockFile = "lock"

	// spoolBytes is some pictures for every reply that may be under way.
	spoolBytes = 64 << 20

	// maxFile bounds a file that is read to be sent inside a call, in bytes.
	maxFile = 32 << 20

	maxStem = 64 // bytes of a file's name before its number
)

// spool holds pictures while signal-cli reads them. Only our user may: the
// files have mode 0600.
type spool struct {
	root *os.Root
	lock io.Closer
	path string
	max  int64        // bytes that may lie in it
	used atomic.Int64 // bytes that do
	next atomic.Uint64

	failing atomic.Bool // nothing could be written last
}

// openSpool makes the spool below a folder and removes what an earlier run,
// which was killed, has left there. One that somebody else has open it refuses:
// signal-cli may be reading their pictures.
func openSpool(folder string) (*spool, error) {
	path, err := filepath.Abs(filepath.Join(folder, spoolFolder))
	if err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the spool: %w", err)
	}
	lock, err := disk.OS{}.Lock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the spool: %w", err), lock.Close())
	}
	s := &spool{root: root, lock: lock, path: path, max: spoolBytes}
	if err := s.empty(); err != nil {
		return nil, errors.Join(fmt.Errorf("empty the spool: %w", err), s.close())
	}
	return s, nil
}

func (s *spool) empty() error {
	left, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	for _, file := range left {
		if file.Name() == lockFile {
			continue
		}
		if err := s.root.RemoveAll(file.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (s *spool) close() error { return errors.Join(s.root.Close(), s.lock.Close()) }

// errSpoolFull says that there is no room for now.
var errSpoolFull = errors.New("the spool is full")

// put writes a file and returns its path; remove removes it again. It is not
// synced: signal-cli reads it now or never.
func (s *spool) put(a *transport.Attachment) (path string, remove func(), err error) {
	size := int64(len(a.Data))
	if s.used.Add(size) > s.max {
		s.used.Add(-size)
		return "", nil, errSpoolFull
	}
	name := s.name(a.Filename)
	remove = func() {
		_ = s.root.Remove(name) // what stays is removed at the next start
		s.used.Add(-size)
	}
	if err := s.write(name, a.Data); err != nil {
		remove()
		return "", nil, fmt.Errorf("write to the spool: %w", err)
	}
	return filepath.Join(s.path, name), remove, nil
}

func (s *spool) write(name string, data []byte) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// name makes a file's name its own, and keeps what people see of it: the stem
// and the extension.
func (s *spool) name(filename string) string {
	plain := transport.PlainFilename(filename)
	ext := filepath.Ext(plain)
	if len(ext) > maxStem {
		ext = ""
	}
	stem := strings.TrimSuffix(plain, ext)
	return stem[:min(len(stem), maxStem)] + "-" + strconv.FormatUint(s.next.Add(1), 10) + ext
}

// handOver returns what appends an attachment, as the JSON string by which
// signal-cli is given it: a path where it can read our files, else the data.
// release must be called when the call has ended. A spool that cannot be written
// keeps no picture from anybody.
func (c *Client) handOver(ctx context.Context, a *transport.Attachment) (file func([]byte) []byte, release func(), err error) {
	release = func() {}
	switch {
	case a == nil:
		return nil, release, nil
	case a.Path != "" && c.spool != nil:
		path, err := filepath.Abs(a.Path)
		return quoted(path), release, err
	case a.Path != "":
		if a, err = readFile(a); err != nil {
			return nil, release, err
		}
	case c.spool != nil:
		path, remove, err := c.spool.put(a)
		c.noteSpool(ctx, err)
		if err == nil {
			return quoted(path), remove, nil
		}
	}
	return func(b []byte) []byte {
		return append(transport.AppendDataURI(append(b, '"'), a), '"')
	}, release, nil
}

// noteSpool logs when the spool begins to fail, and when it works again. That it
// is full for a moment is no failure.
func (c *Client) noteSpool(ctx context.Context, err error) {
	if errors.Is(err, errSpoolFull) {
		return
	}
	switch failing := c.spool.failing.Swap(err != nil); {
	case err != nil && !failing:
		c.log.LogAttrs(ctx, slog.LevelWarn, "pictures cannot be handed over as files and go inside the call", slog.Any("err", err))
	case err == nil && failing:
		c.log.LogAttrs(ctx, slog.LevelInfo, "pictures can be handed over as files again")
	}
}

func quoted(path string) func([]byte) []byte {
	return func(b []byte) []byte { return transport.AppendString(b, path) }
}

// readFile reads an attachment that is given as a file.
func readFile(a *transport.Attachment) (*transport.Attachment, error) {
	f, err := os.Open(a.Path)
	if err != nil {
		return nil, fmt.Errorf("read the attachment: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the attachment: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("read the attachment: %s has more than %d bytes", filepath.Base(a.Path), maxFile)
	}
	return &transport.Attachment{ContentType: a.ContentType, Filename: filepath.Base(a.Path), Data: data}, nil
}
