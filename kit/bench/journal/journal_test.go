// Package journal measures kit/journal beside what one would write instead: a
// file, a buffer for the frame, one write for each record.
//
// The peers do less. None survives a torn write: "bare" has a length in front of
// each record and no sum; "bare-crc" a CRC32C too, but neither segments, nor a
// bound, nor a way to read one record back. "bufio" is what loses records at a
// kill: it shows what the write(2) costs. In the parallel and the synced runs a
// mutex is around each, and who waits there shares nothing.
//
// Judge by cpu-ns/op, the least of at least seven runs; what waits for the disk
// by ns/op:
//
//	GOWORK=off go test -run '^$' -bench . -count 7 ./journal
package journal

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"quartet/kit/bench/cpu"
	"quartet/kit/journal"
	"quartet/kit/journal/disk"
)

// record is as long as a Signal envelope with a short text.
var record = make([]byte, 600)

// appender appends one record; end is called when all are.
type appender struct {
	append func([]byte) error
	end    func() error
}

// fill is how much each writes until it begins anew: the disk has an end.
const fill = 128 << 20

// peers make an appender in a folder. With always every record is synced,
// otherwise every 50 ms.
var peers = []struct {
	name string
	make func(b *testing.B, always bool) appender
}{
	{"quartet", quartet},
	{"bare", func(b *testing.B, always bool) appender { return bare(b, always, false) }},
	{"bare-crc", func(b *testing.B, always bool) appender { return bare(b, always, true) }},
}

func quartet(b *testing.B, always bool) appender {
	l, err := journal.Open(disk.OS{}, b.TempDir(), journal.Options{MaxBytes: 2 * fill, Always: always})
	if err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	n := 0
	return appender{func(r []byte) error {
		if _, err := l.Append(r); err != nil {
			return err
		}
		mu.Lock()
		n += len(r)
		full := n > fill
		if full {
			n = 0
		}
		mu.Unlock()
		if full {
			return l.Drop(l.End())
		}
		return nil
	}, l.Close}
}

func bare(b *testing.B, always, sum bool) appender {
	f, err := os.Create(filepath.Join(b.TempDir(), "journal"))
	if err != nil {
		b.Fatal(err)
	}
	var mu sync.Mutex
	var buf []byte
	n := 0
	table := crc32.MakeTable(crc32.Castagnoli)
	done := make(chan struct{})
	if !always {
		go func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					_ = f.Sync() // as careless as such code is
				case <-done:
					return
				}
			}
		}()
	}
	return appender{func(r []byte) error {
		mu.Lock()
		defer mu.Unlock()
		if n += len(r); n > fill {
			n = 0
			if _, err := f.Seek(0, 0); err != nil {
				return err
			}
			if err := f.Truncate(0); err != nil {
				return err
			}
		}
		buf = binary.LittleEndian.AppendUint32(buf[:0], uint32(len(r)))
		if sum {
			buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(r, table))
		}
		buf = append(buf, r...)
		if _, err := f.Write(buf); err != nil || !always {
			return err
		}
		return f.Sync()
	}, func() error { close(done); return f.Close() }}
}

// buffered is the file behind a bufio.Writer.
func buffered(b *testing.B, _ bool) appender {
	f, err := os.Create(filepath.Join(b.TempDir(), "journal"))
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	n := 0
	return appender{func(r []byte) error {
		if n += len(r); n > fill {
			n = 0
			if _, err := f.Seek(0, 0); err != nil {
				return err
			}
		}
		var size [4]byte
		binary.LittleEndian.PutUint32(size[:], uint32(len(r)))
		if _, err := w.Write(size[:]); err != nil {
			return err
		}
		_, err := w.Write(r)
		return err
	}, f.Close}
}

func run(b *testing.B, goroutines int, a appender) {
	b.ReportAllocs()
	b.SetBytes(int64(len(record)))
	b.ResetTimer()
	report := cpu.PerOp(b)
	var all sync.WaitGroup
	for i := range goroutines {
		share := b.N / goroutines
		if i < b.N%goroutines {
			share++
		}
		all.Go(func() {
			for range share {
				if err := a.append(record); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	report()
	b.StopTimer()
	if err := a.end(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppend is one caller; syncs go on beside it.
func BenchmarkAppend(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) { run(b, 1, p.make(b, false)) })
	}
	b.Run("bufio", func(b *testing.B) { run(b, 1, buffered(b, false)) })
}

// BenchmarkAppend16 is 16 callers at once.
func BenchmarkAppend16(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) { run(b, 16, p.make(b, false)) })
	}
}

// BenchmarkAlways is one caller that waits for the sync of each record.
func BenchmarkAlways(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) { run(b, 1, p.make(b, true)) })
	}
}

// BenchmarkAlways16 is 16 callers that do; ours share the syncs.
func BenchmarkAlways16(b *testing.B) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) { run(b, 16, p.make(b, true)) })
	}
}

// BenchmarkRead is reading one record back by its position, from the page cache.
func BenchmarkRead(b *testing.B) {
	l, err := journal.Open(disk.OS{}, b.TempDir(), journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var at []journal.Pos
	for range 10_000 {
		p, err := l.Append(record)
		if err != nil {
			b.Fatal(err)
		}
		at = append(at, p)
	}
	b.Run("quartet", func(b *testing.B) {
		buf := make([]byte, 0, 1<<10)
		b.ReportAllocs()
		defer cpu.PerOp(b)()
		for i := 0; b.Loop(); i++ {
			if buf, err = l.Read(at[i*7919%len(at)], buf); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen is a start with 100,000 records, 61 MB, of which everything is
// read and checked.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	open := func() *journal.Log {
		l, err := journal.Open(disk.OS{}, dir, journal.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	l := open()
	for range 100_000 {
		if _, err := l.Append(record); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("quartet", func(b *testing.B) {
		defer cpu.PerOp(b)()
		for b.Loop() {
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
			l = open()
		}
	})
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}
