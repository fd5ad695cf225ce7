package journal_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"quartet/kit/journal"
	"quartet/kit/journal/powerloss"
)

// FuzzOpen puts any bytes where segments should be. Open takes them or says
// what is wrong; what it takes can be read, goes on, and is the same at the
// next start.
func FuzzOpen(f *testing.F) {
	fs := powerloss.New()
	l, err := journal.Open(fs, dir, small)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range numbered(0, 9) {
		if _, err := l.Append([]byte(r), nil); err != nil {
			f.Fatal(err)
		}
	}
	if err := errors.Join(l.Sync(f.Context()), l.Close()); err != nil {
		f.Fatal(err)
	}
	names, err := fs.List(dir)
	if err != nil {
		f.Fatal(err)
	}
	var segments [][]byte
	for _, name := range names {
		file, err := fs.Open(filepath.Join(dir, name))
		if err != nil {
			f.Fatal(err)
		}
		b := make([]byte, 1<<10)
		n, _ := file.ReadAt(b, 0) // to the end
		segments = append(segments, b[:n])
	}
	first, second := segments[0], segments[1]
	f.Add(first, second, uint16(0), byte(0))
	f.Add(first, second, uint16(100), byte(1))
	f.Add(first[:60], []byte{}, uint16(50), byte(0xff))
	f.Add(first, second[:100], uint16(len(first)+45), byte(0x40))
	f.Add(first[:len(first)-5], second, uint16(0), byte(0))
	f.Add([]byte{}, []byte{}, uint16(0), byte(0))
	f.Add(make([]byte, 300), make([]byte, 300), uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, one, two []byte, at uint16, change byte) {
		fs := powerloss.New()
		bytes := slices.Concat(one, two)
		if int(at) < len(bytes) {
			bytes[at] ^= change
		}
		put(t, fs, filepath.Join(dir, "0000000000000000.log"), bytes[:len(one)])
		if len(two) > 0 {
			put(t, fs, filepath.Join(dir, names[1]), bytes[len(one):])
		}
		l, err := journal.Open(fs, dir, small)
		if err != nil {
			wantCorrupt(t, err)
			return
		}
		found := all(t, l)
		mustAppend(t, l, "more")
		mustClose(t, l)
		l = mustOpen(t, fs, small)
		wantRecords(t, all(t, l), append(found, "more")...)
		mustClose(t, l)
	})
}

// FuzzSnapshot does the same with a checkpoint.
func FuzzSnapshot(f *testing.F) {
	fs := powerloss.New()
	l, err := journal.Open(fs, dir, small)
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(checkpoint(l, l.End(), "one", "", "three"), l.Close()); err != nil {
		f.Fatal(err)
	}
	const name = dir + "/0000000000000028.snap" // behind the head
	file, err := fs.Open(name)
	if err != nil {
		f.Fatal(err)
	}
	whole := make([]byte, 1<<10)
	n, _ := file.ReadAt(whole, 0) // to the end
	f.Add(whole[:n])
	f.Add(whole[:n-1])
	f.Add(append(whole[:n:n], 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		fs := fs.Clone()
		put(t, fs, name, b)
		l := mustOpen(t, fs, small)
		defer l.Close()
		var found []string
		_, err := l.Snapshot(func(record []byte) error {
			found = append(found, string(record))
			return nil
		})
		if err != nil {
			wantCorrupt(t, err)
		}
		mustCheckpoint(t, l, found...)
		snapshot, _ := state(t, l)
		wantRecords(t, snapshot, found...)
	})
}
