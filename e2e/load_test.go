package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"quartet/e2e/internal/stack"
)

// seconds is how long a load lasts: BOTD_BENCH_SECONDS, 5 without it.
func seconds(t testing.TB) int {
	t.Helper()
	text := os.Getenv("BOTD_BENCH_SECONDS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BOTD_BENCH_SECONDS=%s: want a number from 1", text)
	}
	return n
}

// BenchmarkOpenLoop lets 1,000 commands a second come from 240 people in 120
// chats, whether they are answered or not, with 20 ms at Signal's side, to botd
// and to a bare loop that does the least a bot can do. An operation is one
// command: from its emission to the arrival of its answer, at the median. What
// botd says of its own share stands beside it, out of a second run, because it
// writes a line of its log for each.
func BenchmarkOpenLoop(b *testing.B) {
	w := stack.StartWorld(b, stack.Options{
		Env:    []string{"BOTD_LIMIT=64", "BOTD_COOLDOWN=0", "BOTD_STATE_DIR=" + b.TempDir()},
		Signal: []string{"-latency", "send_text=20ms"},
	})
	var bare float64 // its median, in milliseconds
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			p := stack.Start(b, "bareloop", nil, "-signal", strings.TrimPrefix(w.Signal.URL, "http://"), "-number", stack.Number,
				"-journal", filepath.Join(b.TempDir(), "journal"))
			stack.Until(b, "it receives", func() (any, bool) { return nil, p.Log() != "" })
			bare = openLoop(b, w, true, 1_000) // it promises nothing, and loses one now and then
			p.Kill()
		}
	})
	b.Run("quartet", func(b *testing.B) {
		for b.Loop() {
			p := w.Start(b)
			median := openLoop(b, w, true, 0)
			if err := p.Stop(); err != nil {
				b.Fatal(err)
			}
			if bare > 0 {
				b.ReportMetric(median/bare, "x-bare")
			}
			p = w.Start(b, "BOTD_LOG_LEVEL=DEBUG")
			openLoop(b, w, false, 0)
			if err := p.Stop(); err != nil {
				b.Fatal(err)
			}
			ownShare(b, p.Served()[aSecond:])
		}
	})
}

// aSecond is how many commands come in one.
const aSecond = 1_000

// openLoop runs the load, after a second of it that does not count. It returns
// the median that the simulator measured, in milliseconds, and may report it.
func openLoop(b *testing.B, w *stack.World, report bool, lossy int64) (median float64) {
	b.Helper()
	load := stack.Load{Count: aSecond, Spacing: "1ms", People: 240, Groups: 120, Text: "!ja"}
	answeredAll(b, w, load, lossy)
	load.Count *= seconds(b)
	l := answeredAll(b, w, load, lossy)
	if report {
		b.ReportMetric(l.Emission.P50*1e6, "ns/op")
		b.ReportMetric(l.Emission.P99*1e3, "p99-us")
	}
	return l.Emission.P50
}

// answeredAll emits a load and waits until all of it is answered that the server
// did not drop, but for one of so many.
func answeredAll(b *testing.B, w *stack.World, load stack.Load, lossy int64) stack.Latencies {
	b.Helper()
	w.Signal.Reset(b)
	commands := int64(w.Signal.Emit(b, load))
	enough := commands
	if lossy > 0 {
		enough -= commands / lossy
	}
	var l stack.Latencies
	stack.Until(b, "all are answered", func() (any, bool) {
		l = w.Signal.Latencies(b)
		lost := busy(w.Signal.Stats(b))
		return fmt.Sprintf("%d of %d are answered, the server dropped %d", l.Answered, commands, lost), l.Answered+lost >= enough
	})
	return l
}

// ownShare reports what botd's log says of its own share of these requests, in
// microseconds, and returns the median in nanoseconds.
func ownShare(b *testing.B, all []stack.Served) (median float64) {
	b.Helper()
	var own, store []float64
	for _, s := range all {
		own, store = append(own, s.Timing.Own-s.Timing.Store), append(store, s.Timing.Store)
	}
	b.ReportMetric(1e3*stack.Quantile(own, 0.5), "own-p50-us")
	b.ReportMetric(1e3*stack.Quantile(own, 0.99), "own-p99-us")
	b.ReportMetric(1e3*stack.Quantile(store, 0.5), "store-p50-us")
	b.ReportMetric(1e3*stack.Quantile(store, 0.99), "store-p99-us")
	return 1e6 * stack.Quantile(own, 0.5)
}

// BenchmarkOthersBesideAFlood lets one person write 100 commands a second, while
// 50 others write one each. An operation is botd's own share, without store, of
// one command of the others, at the median.
func BenchmarkOthersBesideAFlood(b *testing.B) {
	w := stack.StartWorld(b, stack.Options{
		Env:    []string{"BOTD_COOLDOWN=0", "BOTD_LOG_LEVEL=DEBUG", "BOTD_STATE_DIR=" + b.TempDir()},
		Signal: []string{"-latency", "send_text=20ms"},
	})
	for b.Loop() {
		w.Signal.Reset(b)
		p := w.Start(b)
		n := seconds(b)
		w.Signal.Emit(b, stack.Load{Count: 100 * n, Spacing: "10ms", People: 1, First: 1_000, Text: "!pomoc"})
		w.Signal.Emit(b, stack.Load{Count: 50 * n, Spacing: "20ms", People: 50, Groups: 50, Text: "!ja"})
		stack.Until(b, "all is done", func() (any, bool) {
			left := w.Signal.Number(b, "frames_queued")
			return left, left == 0 && w.Metrics(b).Idle()
		})
		if err := p.Stop(); err != nil {
			b.Fatal(err)
		}
		var others []stack.Served
		for _, s := range p.Served() {
			if s.Command == "ja" {
				others = append(others, s)
			}
		}
		if len(others) != 50*n {
			b.Errorf("%d of %d commands of the others were answered", len(others), 50*n)
		}
		b.ReportMetric(ownShare(b, others), "ns/op")
	}
}

// BenchmarkPicture asks for pictures of 300 KiB that the bot has ready. An
// operation is botd's own share, without store, of one of them, at the median.
func BenchmarkPicture(b *testing.B) {
	for _, way := range []stack.Way{stack.RPC, stack.Websocket} {
		b.Run(way.String(), func(b *testing.B) {
			env := []string{"BOTD_COOLDOWN=0", "BOTD_LOG_LEVEL=DEBUG", "BOTD_PICTURE_BURST=0", "BOTD_STATE_DIR=" + b.TempDir()}
			if way == stack.RPC {
				env = append(env, "BOTD_SPOOL_DIR="+b.TempDir())
			}
			w := stack.StartWorld(b, stack.Options{Way: way, Env: env, Web: []string{"-jpeg-only", "-bytes-min", "307200", "-bytes-max", "307200", "-pictures", "8"}})
			for b.Loop() {
				const warm = 50 // the simulator draws each of its pictures once
				p := w.Start(b)
				answeredAll(b, w, stack.Load{Count: warm, Spacing: "50ms", People: 50, Text: "!kot"}, 0)
				answeredAll(b, w, stack.Load{Count: 10 * seconds(b), Spacing: "100ms", People: 50, Text: "!kot"}, 0)
				if err := p.Stop(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(ownShare(b, p.Served()[warm:]), "ns/op")
			}
		})
	}
}
