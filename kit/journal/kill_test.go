package journal_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
)

// childDir is the variable that makes this program the process that is killed.
const childDir = "JOURNAL_TEST_CHILD"

// killOptions make many segments.
var killOptions = journal.Options{SegmentBytes: 16 << 10}

// appendUntilKilled appends from several goroutines, and reports each record
// once Append has returned for it.
func appendUntilKilled(dir string) {
	l, err := journal.Open(disk.OS{}, dir, killOptions)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				record := fmt.Sprintf("%d-%d-%d-%s", os.Getpid(), g, i, strings.Repeat("x", i%300))
				p, err := l.Append([]byte(record))
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				fmt.Printf("%d %s\n", p, record) // one write
			}
		})
	}
	all.Wait()
}

func TestKillLosesNothingThatAppendReturnedFor(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	dir, rng := t.TempDir(), newRand(1)
	reported := map[journal.Pos]string{}
	for range rounds {
		runAndKill(t, dir, 1+rng.IntN(2000), reported)
		l, err := journal.Open(disk.OS{}, dir, killOptions)
		if err != nil {
			t.Fatal(err)
		}
		found := map[journal.Pos]string{}
		err = l.Scan(0, func(p journal.Pos, record []byte) error {
			found[p] = string(record)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for p, record := range reported {
			if found[p] != record {
				t.Fatalf("at %d is %q, want %q", p, found[p], record)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// runAndKill starts the child, kills it when it has reported so many records,
// and adds all that it reported.
func runAndKill(t *testing.T, dir string, after int, reported map[journal.Pos]string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line that was cut reported nothing
		}
		if n == after {
			_ = cmd.Process.Kill()
		}
		var p journal.Pos
		var record string
		if _, err := fmt.Sscanf(line, "%d %s", &p, &record); err != nil {
			t.Errorf("the child says %q", line)
			continue
		}
		reported[p] = record
	}
	_ = cmd.Wait() // it was killed
}
