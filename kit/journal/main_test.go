package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		appendUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

const dir = "journal"

// never is so long that the log syncs only when it is asked to.
const never = 1000 * time.Hour

// small are options for logs of a few records.
var small = journal.Options{SegmentBytes: 256, MaxBytes: 1 << 20, SyncEvery: never}

func mustOpen(t *testing.T, fs disk.FS, o journal.Options) *journal.Log {
	t.Helper()
	l, err := journal.Open(fs, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func mustAppend(t *testing.T, l *journal.Log, records ...string) journal.Pos {
	t.Helper()
	b := make([][]byte, len(records))
	for i, r := range records {
		b[i] = []byte(r)
	}
	p, err := l.Append(b...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustSync(t *testing.T, l *journal.Log) {
	t.Helper()
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t *testing.T, l *journal.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// all is what Scan finds from the beginning, with every record also read by
// its position.
func all(t *testing.T, l *journal.Log) []string {
	t.Helper()
	return from(t, l, 0)
}

func from(t *testing.T, l *journal.Log, p journal.Pos) []string {
	t.Helper()
	var found []string
	err := l.Scan(p, func(p journal.Pos, record []byte) error {
		read, err := l.Read(p, nil)
		if err != nil {
			return err
		}
		if !bytes.Equal(read, record) {
			return fmt.Errorf("Read(%d) is %q, Scan had %q", p, read, record)
		}
		found = append(found, string(record))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantRecords(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("the log has\n%q\nwant\n%q", got, want)
	}
}

// numbered are records of different sizes.
func numbered(from, to int) []string {
	var records []string
	for i := from; i < to; i++ {
		records = append(records, fmt.Sprintf("record %d %s", i, bytes.Repeat([]byte{'x'}, i*7%50)))
	}
	return records
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func wantCorrupt(t *testing.T, err error) *journal.CorruptError {
	t.Helper()
	var corrupt *journal.CorruptError
	if !errors.As(err, &corrupt) {
		t.Fatalf("got %v, want a CorruptError", err)
	}
	return corrupt
}

// lastSegment is the name of the newest segment on a disk.
func lastSegment(t *testing.T, fs disk.FS) string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, name := range names {
		if len(name) == len("0123456789abcdef.log") && name[16:] == ".log" {
			last = dir + "/" + name
		}
	}
	return last
}

// content is a whole file.
func content(t *testing.T, fs disk.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		t.Fatal(err)
	}
	return b
}

// put makes a file of that content, synced.
func put(t *testing.T, fs disk.FS, name string, b []byte) {
	t.Helper()
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), fs.SyncDir(dir)); err != nil {
		t.Fatal(err)
	}
}

var _ disk.FS = (*powerloss.FS)(nil)
