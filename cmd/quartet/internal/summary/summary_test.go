package summary_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"quartet/cmd/quartet/internal/summary"
)

// testdata/metrics.txt has four !kot that went well (own 0.6 ms, upstream
// 1,070 ms, send 2,655 ms each), one whose upstream failed (own 3 ms, upstream
// 500 ms, send 2 ms), and fifteen !pomoc (own 0.3 ms, send 12 ms).
func recorded(t *testing.T) summary.Snapshot {
	t.Helper()
	f, err := os.Open("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := summary.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOperationsAreReadFromTheSharedNames(t *testing.T) {
	s := recorded(t)
	if len(s) != 2 || s[0].Name != "!kot" || s[1].Name != "!pomoc" {
		t.Fatalf("operations %+v, want !kot and !pomoc", s)
	}
	cases := []struct {
		op             summary.Operation
		count, ok      uint64
		upstream, send time.Duration
		ownShare       float64
	}{
		{s[0], 5, 4, 956 * time.Millisecond, 2124400 * time.Microsecond, 5.4 / 15407.4},
		{s[1], 15, 15, 0, 12 * time.Millisecond, 0.3 / 12.3},
		{s.All(), 20, 19, 239 * time.Millisecond, 540100 * time.Microsecond, 9.9 / 15591.9},
	}
	for _, c := range cases {
		if c.op.Count != c.count || c.op.OK != c.ok {
			t.Errorf("%s: %d requests, %d ok; want %d and %d", c.op.Name, c.op.Count, c.op.OK, c.count, c.ok)
		}
		near(t, c.op.Name+" upstream", c.op.Upstream().Seconds(), c.upstream.Seconds())
		near(t, c.op.Name+" send", c.op.Send().Seconds(), c.send.Seconds())
		near(t, c.op.Name+" own share", c.op.OwnShare(), c.ownShare)
	}
}

func TestQuantilesInterpolateInsideTheirBucket(t *testing.T) {
	s := recorded(t)
	cases := []struct {
		name string
		op   summary.Operation
		q    float64
		want float64 // ms
	}{
		// Rank 2.5 of the four in 0.5..1 ms.
		{"kot median", s[0], 0.5, 0.5 + 0.5*2.5/4},
		// Rank 4.75: three quarters into the one in 2.5..5 ms.
		{"kot p95", s[0], 0.95, 2.5 + 2.5*0.75},
		// Rank 7.5 of the fifteen in 0.25..0.5 ms.
		{"pomoc median", s[1], 0.5, 0.25 + 0.25*0.5},
		// Rank 10 of the fifteen in 0.25..0.5 ms, over both operations.
		{"all median", s.All(), 0.5, 0.25 + 0.25*10/15},
		{"lowest", s[0], 0, 0.25},
		{"highest", s[0], 1, 5},
	}
	for _, c := range cases {
		got, ok := c.op.OwnQuantile(c.q)
		if !ok {
			t.Errorf("%s: nothing measured", c.name)
		}
		near(t, c.name, got.Seconds()*1e3, c.want)
	}
}

func TestBeyondTheLastBoundIsTheLastBound(t *testing.T) {
	s := parse(t, `
# TYPE quartet_request_duration_seconds histogram
quartet_request_duration_seconds_bucket{operation="x",outcome="ok",le="1"} 0
quartet_request_duration_seconds_bucket{operation="x",outcome="ok",le="+Inf"} 2
quartet_request_duration_seconds_sum{operation="x",outcome="ok"} 60
quartet_request_duration_seconds_count{operation="x",outcome="ok"} 2
# TYPE quartet_request_own_duration_seconds histogram
quartet_request_own_duration_seconds_bucket{operation="x",outcome="ok",le="1"} 0
quartet_request_own_duration_seconds_bucket{operation="x",outcome="ok",le="+Inf"} 2
quartet_request_own_duration_seconds_sum{operation="x",outcome="ok"} 60
quartet_request_own_duration_seconds_count{operation="x",outcome="ok"} 2
`)
	if got, ok := s.All().OwnQuantile(0.95); !ok || got != time.Second {
		t.Errorf("got %v, %v; want the last finite bound, 1s", got, ok)
	}
}

func TestNothingMeasuredYet(t *testing.T) {
	s := parse(t, "# TYPE go_goroutines gauge\ngo_goroutines 3\n")
	if len(s) != 0 {
		t.Errorf("operations %+v", s)
	}
	if got := s.Line("replies"); !strings.Contains(got, "0 replies") || !strings.Contains(got, "own p50 - p95 - |") {
		t.Errorf("line %q", got)
	}
}

func TestWhatIsNoMetricsPageIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"HTML": "<html>\n",
		"differing buckets": `
# TYPE quartet_request_own_duration_seconds histogram
quartet_request_own_duration_seconds_bucket{operation="x",outcome="ok",le="1"} 1
quartet_request_own_duration_seconds_bucket{operation="x",outcome="ok",le="+Inf"} 1
quartet_request_own_duration_seconds_bucket{operation="x",outcome="timeout",le="2"} 1
quartet_request_own_duration_seconds_bucket{operation="x",outcome="timeout",le="+Inf"} 1
`,
	} {
		if s, err := summary.Parse(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error, %+v", name, s)
		}
	}
}

func TestLine(t *testing.T) {
	s := recorded(t)
	want := "    19 replies, 1 upstream_error  own p50 0.42 p95 1.0 | upstream 239  send 540 ms"
	if got := s.Line("replies"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, want := s[1:].Line("replies"), "    15 replies  own p50 0.38 p95 0.49 | upstream 0.00  send 12 ms"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	if err := recorded(t).Table(&out); err != nil {
		t.Fatal(err)
	}
	want := `  operation  count  ok  own p50  own p95  upstream   send  own share         otherwise
       !kot      5   4     0.81      4.4       956  2,124    0.035 %  1 upstream_error
     !pomoc     15  15     0.38     0.49      0.00     12      2.4 %                 -
        all     20  19     0.42      1.0       239    540    0.063 %  1 upstream_error
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func parse(t *testing.T, text string) summary.Snapshot {
	t.Helper()
	s, err := summary.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
