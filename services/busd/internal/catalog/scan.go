package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"quartet/services/busd/internal/service"
	"quartet/services/busd/internal/wire"
)

// listing is what is known of one directory: a record for every .service
// file in it, by file name.
type listing struct {
	records map[string]*record
	fault   string // why it could not be listed, last time
}

// record is what is known of one file.
type record struct {
	path     string
	service  service.Service // the newest that could be read; no Name: none ever
	stamp    stamp           // of the file that was read last, well or not
	settled  bool            // stamp alone shows whether the file is still that
	fault    string          // why it could not be read last time
	misnamed bool            // and that was logged
}

func (r *record) canonical() bool { return filepath.Base(r.path) == r.service.FileName() }

// inOrder gives the records in the order in which they count: files that are
// named as they should be first, then by file name. (dbus-daemon takes the
// order of the directory, which is the file system's.)
func (l listing) inOrder() []*record {
	records := make([]*record, 0, len(l.records))
	for _, r := range l.records {
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b *record) int {
		if a.canonical() != b.canonical() {
			if a.canonical() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	return records
}

// stamp changes with the content of a file.
type stamp struct {
	device, inode    uint64
	size             int64
	modified, status int64 // nanoseconds
}

func stampOf(info fs.FileInfo) stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
	}
	return stamp{
		device: uint64(st.Dev), inode: st.Ino, size: st.Size,
		modified: st.Mtim.Nano(), status: st.Ctim.Nano(),
	}
}

// settleTime is how old a file must be until its stamp is believed: two
// writes within one tick of the file system's clock leave the same stamp.
const settleTime = 100 * time.Millisecond

// list brings the listing of one directory up to date. A directory that is
// not there has no files; one that can't be read keeps those it had.
func (c *Catalog) list(ctx context.Context, dir string) listing {
	known := c.read[dir]
	began := time.Now()
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		delete(c.read, dir)
		return listing{}
	}
	if err != nil {
		if known.fault != err.Error() {
			known.fault = err.Error()
			c.log.LogAttrs(ctx, slog.LevelWarn, "service directory not read", slog.String("directory", dir), slog.Any("err", err))
		}
		c.read[dir] = known
		return known
	}
	fresh := listing{records: make(map[string]*record, len(known.records))}
	for _, file := range files {
		// Names with a leading dot are what editors and package managers
		// leave while they work.
		name := file.Name()
		if !strings.HasSuffix(name, ".service") || strings.HasPrefix(name, ".") {
			continue
		}
		r := known.records[name]
		if r == nil {
			r = &record{path: filepath.Join(dir, name)}
		}
		if c.update(ctx, r, began) {
			fresh.records[name] = r
		}
	}
	c.read[dir] = fresh
	return fresh
}

// update reads a file unless it is known already; false: it is gone. A file
// that can't be read or is broken keeps what it said before, because it may
// be half written.
func (c *Catalog) update(ctx context.Context, r *record, began time.Time) (there bool) {
	info, err := os.Stat(r.path)
	if err == nil && r.settled && stampOf(info) == r.stamp {
		return true
	}
	var text []byte
	if err == nil {
		text, info, err = readFile(r.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	var s service.Service
	if err == nil {
		r.stamp = stampOf(info)
		age := began.UnixNano() - max(r.stamp.modified, r.stamp.status)
		r.settled = age > int64(settleTime)
		s, err = service.Parse(text)
	}
	if err == nil && !wire.ValidWellKnown(s.Name) {
		err = fmt.Errorf("%q is not a well-known bus name", s.Name)
	}
	if err != nil {
		if r.fault != err.Error() {
			r.fault = err.Error()
			c.log.LogAttrs(ctx, slog.LevelWarn, "service file not used",
				slog.String("file", r.path), slog.Any("err", err), slog.Bool("older_kept", r.service.Name != ""))
		}
		return true
	}
	if s != r.service {
		r.service, r.misnamed = s, false
	}
	r.fault = ""
	return true
}

// readFile reads a regular file of at most service.MaxSize bytes. It opens
// without blocking: a FIFO that is called x.service must not stop the scan.
func readFile(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // read only: nothing is lost
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, errors.New("it is not a regular file")
	}
	// One byte more, so that Parse sees that the file is too big.
	text, err := io.ReadAll(io.LimitReader(f, service.MaxSize+1))
	return text, info, err
}
