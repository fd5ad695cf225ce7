//go:build !race

package journal_test

import (
	"testing"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
)

func TestAppendAndReadDoNotAllocate(t *testing.T) {
	t.Chdir(t.TempDir())
	record, more := make([]byte, 600), make([]byte, 100)
	buf := make([]byte, 0, 4096)
	for _, o := range []journal.Options{{SyncEvery: never}, {Always: true}} {
		l := mustOpen(t, disk.OS{}, o)
		p := mustAppend(t, l, "first", "second")
		for name, do := range map[string]func() error{
			"Append":        func() error { _, err := l.Append(record); return err },
			"Append of two": func() error { _, err := l.Append(record, more); return err },
			"Read":          func() (err error) { buf, err = l.Read(p, buf); return err },
			"Stats":         func() error { return l.Stats().Broken },
			"Drop":          func() error { return l.Drop(p) },
		} {
			got := testing.AllocsPerRun(200, func() {
				if err := do(); err != nil {
					t.Error(err)
				}
			})
			if got != 0 {
				t.Errorf("%s, always %v: %v allocations", name, o.Always, got)
			}
		}
		mustClose(t, l)
	}
}
