package main

import (
	"strings"
	"testing"
)

const output = `goos: linux
pkg: quartet/kit/bench/budget
BenchmarkUncontended/quartet-2         	1000	 30.0 ns/op	 22.0 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkUncontended/quartet-2         	1000	 25.0 ns/op	 21.0 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkUncontended/quartet-reclaim-2 	1000	 90.0 ns/op	 63.0 cpu-ns/op	 48 B/op	 1 allocs/op
BenchmarkUncontended/quartet-reclaim-2 	1000	 91.0 ns/op	 64.0 cpu-ns/op	 48 B/op	 1 allocs/op
BenchmarkUncontended/xsync-2           	1000	 31.0 ns/op	 42.5 cpu-ns/op	 0 B/op	 0 allocs/op
BenchmarkUncontended/xsync-2           	1000	 30.0 ns/op	 42.0 cpu-ns/op	 0 B/op	 0 allocs/op
PASS
ok  	quartet/kit/bench/budget	1.0s
pkg: quartet/kit/bench/lockmap
BenchmarkHandover/lockmap/goroutines=32-2 	 500	 1500 ns/op
BenchmarkHandover/locker/goroutines=32-2  	 500	 3000 ns/op
BenchmarkQueue-2 	 500	 12.5 ns/op
PASS
pkg: quartet/e2e
BenchmarkReplies-2 	 1	 33000000000 ns/op	 624.7 replies/s	 900 B/op	 9 allocs/op
BenchmarkReplies-2 	 1	 32000000000 ns/op	 514.2 replies/s	 800 B/op	 8 allocs/op
BenchmarkReplies-2 	 1	 34000000000 ns/op	 625.6 replies/s	 700 B/op	 7 allocs/op
BenchmarkLoad/bare-2 	 1	 300000 ns/op	 900.0 p99-us
BenchmarkLoad/quartet-2 	 1	 450000 ns/op	 1100.0 p99-us	 1.5 x-bare
PASS
`

func TestTable(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader(output), &out); err != nil {
		t.Fatal(err)
	}
	want := `
quartet/kit/bench/budget Uncontended (minimum of 2)
                   cpu-ns/op  B/op  allocs/op  quartet is  quartet-reclaim is
          quartet         21     0          0           -                   -
  quartet-reclaim         63    48          1           -                   -
            xsync         42     0          0       0.50x               1.50x

quartet/kit/bench/lockmap Handover/goroutines=32 (minimum of 1)
           ns/op  B/op  allocs/op  lockmap is
  lockmap   1500     -          -           -
   locker   3000     -          -       0.50x

quartet/kit/bench/lockmap Queue (minimum of 1)
    ns/op  B/op  allocs/op
     12.5     -          -

quartet/e2e Replies (minimum, behind allocs/op median, of 3)
          ns/op  B/op  allocs/op  replies/s
    32000000000   700          7        625

quartet/e2e Load (minimum, behind allocs/op median, of 1)
            ns/op  B/op  allocs/op  p99-us  x-bare  quartet is
     bare  300000     -          -     900       -       1.50x
  quartet  450000     -          -    1100    1.50           -
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestNothingMeasuredIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"no benchmark": "PASS\nok x 1s\n",
		"failed run":   output + "FAIL\tquartet/kit/bench/pool [build failed]\n",
		"bad figure":   "BenchmarkX-2 10 fast ns/op\n",
	} {
		var out strings.Builder
		if err := run(strings.NewReader(text), &out); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
