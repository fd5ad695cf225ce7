package journal_test

import (
	"fmt"
	"os"

	"quartet/kit/journal"
	"quartet/kit/journal/disk"
)

// A tally that survives: each change is appended before it counts, and a
// checkpoint keeps the log short.
func Example() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	for range 2 { // the second time as after a kill
		log, err := journal.Open(disk.OS{}, dir, journal.Options{})
		if err != nil {
			panic(err)
		}
		tally := map[string]int{}
		at, err := log.Snapshot(func(record []byte) error {
			var name string
			var n int
			_, err := fmt.Sscan(string(record), &name, &n)
			tally[name] = n
			return err
		})
		if err != nil {
			panic(err)
		}
		err = log.Scan(at, func(_ journal.Pos, record []byte) error {
			tally[string(record)]++
			return nil
		})
		if err != nil {
			panic(err)
		}

		for _, name := range []string{"kot", "pies", "kot"} {
			if _, err := log.Append([]byte(name)); err != nil {
				panic(err)
			}
			tally[name]++
		}
		fmt.Println(tally)

		at = log.End()
		err = log.Checkpoint(at, func(add func([]byte) error) error {
			for name, n := range tally {
				if err := add(fmt.Append(nil, name, " ", n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			panic(err)
		}
		if err := log.Drop(at); err != nil {
			panic(err)
		}
		if err := log.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// map[kot:2 pies:1]
	// map[kot:4 pies:2]
}
