package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quartet/e2e/internal/stack"
)

const (
	allFrames   = 100_000
	floodShare  = 0.9      // of it that is no commands
	floodMemory = 64 << 20 // what botd may have in memory while it lasts
)

// floodFrames is how many frames a flood of a test has: all of them in CI.
func floodFrames() int {
	if whole() || os.Getenv("QUARTET_SOAK") != "" {
		return allFrames
	}
	return 20_000
}

// flood is what is known when all of it is over.
type flood struct {
	botd           *stack.Botd
	took           time.Duration // until the last frame was read
	frames         int           // that were made
	came, dropped  int64         // to botd; by the server
	commands       int64         // among those made
	read           float64       // by botd
	served, turned float64       // commands answered, and dropped with a reason
}

// startFlood lets frames come at full speed, one in ten a command, into a
// backlog that is too small for them, and waits until all is over.
func startFlood(t testing.TB, way stack.Way, quirks string, frames int) flood {
	t.Helper()
	b := stack.StartBotd(t, stack.Options{
		Way:    way,
		Env:    []string{"BOTD_COOLDOWN=0", "BOTD_BACKLOG_BYTES=1MiB", "BOTD_SENDER_WAITING=100", "BOTD_STATE_DIR=" + t.TempDir()},
		Signal: []string{"-latency", "send_text=5ms", "-quirks", quirks},
	})
	f := flood{botd: b, frames: frames}
	before := b.Signal.Stats(t)
	began := time.Now()
	f.commands = int64(b.Signal.Emit(t, stack.Load{Count: f.frames, People: 1_000, Groups: 100, Text: "!ja",
		Noise: floodShare, NoiseMin: 550, NoiseMax: 2048}))
	idle := 0
	stack.Until(t, "all frames are read and all commands answered or dropped", func() (any, bool) {
		m, stats := b.Metrics(t), b.Signal.Stats(t)
		number := func(name string) int64 {
			n, _ := stats[name].(float64)
			was, _ := before[name].(float64)
			return int64(n - was)
		}
		f.came, f.dropped = number("frames_delivered")+number("frames_posted"), busy(stats)
		early := 0.0
		for _, reason := range []string{"malformed", "too_long", "no_frame", "unasked"} { // never became a frame
			early += m.Sum("quartet_botd_dropped_total", `reason="`+reason+`"`)
		}
		f.read = m.Sum("quartet_botd_frames_total") + early
		f.served = m.Sum("quartet_request_duration_seconds_count")
		f.turned = m.Sum("quartet_botd_dropped_total") - early
		left := number("frames_queued") + number("frames_waiting")
		if left == 0 && f.took == 0 && int64(f.read) >= f.came {
			f.took = time.Since(began)
		}
		if idle++; left > 0 || !m.Idle() || int64(f.read) < f.came || f.dropped == 0 && int64(f.served+f.turned) < f.commands {
			idle = 0
		}
		return fmt.Sprint(f.read, f.served, f.turned), idle == 3
	})
	return f
}

// busy is how many frames the server dropped because nobody took them.
func busy(stats map[string]any) int64 {
	dropped, _ := stats["frames_dropped"].(map[string]any)
	n, _ := dropped["busy"].(float64)
	return int64(n)
}

// However fast frames come: each is read, each command answered or dropped for
// a counted reason, and memory has an end.
func TestFloodIsAnsweredOrCounted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		way    stack.Way
		quirks string
		all    bool // reach botd
	}{
		{"websocket that waits", stack.Websocket, "drop_when_busy=false", true},
		{"websocket that drops", stack.Websocket, "", false},
		{"webhook", stack.Webhook, "", true},
		{"rpc", stack.RPC, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := startFlood(t, tt.way, tt.quirks, floodFrames())
			peak := f.botd.PeakMemory(t)
			t.Logf("%d frames, %d came in %s; of %d commands %v were served, %v dropped; %d KiB at most", f.frames, f.came, f.took.Round(time.Millisecond), f.commands, f.served, f.turned, peak>>10)
			if tt.all && f.came != int64(f.frames) {
				t.Errorf("%d of %d frames came", f.came, f.frames)
			}
			if f.came+f.dropped != int64(f.frames) {
				t.Errorf("%d frames came and %d were dropped of %d", f.came, f.dropped, f.frames)
			}
			if int64(f.read) != f.came {
				t.Errorf("%d frames came, and botd counts %v", f.came, f.read)
			}
			if tt.all && int64(f.served+f.turned) != f.commands {
				t.Errorf("%d commands came, %v were served and %v dropped", f.commands, f.served, f.turned)
			}
			if sends := f.botd.Signal.Number(t, "sends"); sends != int64(f.served) {
				t.Errorf("%v were served, and %d answers went out", f.served, sends)
			}
			if f.turned > 0 && tt.way == stack.RPC {
				t.Errorf("%v commands were dropped, where the server would have waited", f.turned)
			}
			if peak > floodMemory {
				t.Errorf("botd had %d MiB in memory", peak>>20)
			}
		})
	}
}

// BenchmarkFlood is the same with its speed. An operation is the whole flood,
// until the last frame is read.
func BenchmarkFlood(b *testing.B) {
	for _, way := range stack.Ways() {
		b.Run(way.String(), func(b *testing.B) {
			for b.Loop() {
				quirks := ""
				if way == stack.Websocket {
					quirks = "drop_when_busy=false"
				}
				f := startFlood(b, way, quirks, allFrames)
				b.ReportMetric(float64(f.took), "ns/op")
				b.ReportMetric(float64(f.came)/f.took.Seconds(), "frames/s")
				b.ReportMetric(float64(f.botd.PeakMemory(b))/(1<<20), "peak-MiB")
			}
		})
	}
}

// BenchmarkWebhookPosts posts a flood to the webhook, one frame after another
// over one connection, as the container does, and each also to a server whose
// handler does nothing. An operation is one post, at the median, with the way
// there and back. How long the bot itself took for it, from its last byte to the
// answer, is of its own histogram: the bound of the bucket in which it ends.
// How long this machine lets a program stand still that waits for nothing is
// measured before: no server on it is quicker than that with every post.
func BenchmarkWebhookPosts(b *testing.B) {
	for b.Loop() {
		stood := standstills(time.Duration(seconds(b)) * time.Second)
		b.ReportMetric(1e6*slices.Max(stood), "machine-max-us")
		b.ReportMetric(slower(stood, time.Millisecond), "machine-over-1ms")
		hook, bare := stack.FreeAddr(b), stack.FreeAddr(b)
		w := stack.StartBotd(b, stack.Options{
			Env:    []string{"BOTD_WEBHOOK_ADDR=" + hook, "BOTD_COOLDOWN=0", "BOTD_SENDER_WAITING=100", "BOTD_STATE_DIR=" + b.TempDir()},
			Signal: []string{"-latency", "send_text=5ms"},
		})
		p := stack.Start(b, "bareloop", nil, "-webhook", bare)
		stack.Until(b, "it serves", func() (any, bool) { return nil, p.Log() != "" })
		took := postAll(b, 5_000*seconds(b), hook, bare)
		for i, name := range []string{"", "bare-"} {
			for share, unit := range map[float64]string{0.5: "p50-us", 0.99: "p99-us", 0.999: "p999-us", 1: "max-us"} {
				b.ReportMetric(1e6*stack.Quantile(took[i], share), name+unit)
			}
			b.ReportMetric(slower(took[i], time.Millisecond), name+"over-1ms")
		}
		b.ReportMetric(1e9*stack.Quantile(took[0], 0.5), "ns/op")
		stack.Until(b, "all frames are read", func() (any, bool) {
			read := w.Metrics(b).Sum("quartet_botd_frames_total")
			return read, int(read) >= len(took[0])
		})
		m := w.Metrics(b)
		const answer = "quartet_botd_webhook_answer_seconds"
		for share, unit := range map[float64]string{0.5: "own-p50-us", 0.99: "own-p99-us", 0.999: "own-p999-us", 1: "own-max-us"} {
			b.ReportMetric(1e6*m.Within(answer, share), unit)
		}
		if n := m.Sum(answer + "_count"); int(n) != len(took[0]) {
			b.Errorf("%v posts of %d were answered", n, len(took[0]))
		}
		p.Kill()
	}
}

// standstills reads the clock on every processor at once and returns how long
// each of them was kept from it, in seconds, where that was over 0.1 ms.
func standstills(during time.Duration) []float64 {
	var mu sync.Mutex
	all := []float64{0}
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var own []float64
			for began, last := time.Now(), time.Now(); last.Sub(began) < during; {
				now := time.Now()
				if d := now.Sub(last); d > 100*time.Microsecond {
					own = append(own, d.Seconds())
				}
				last = now
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, own...)
		})
	}
	wait.Wait()
	return all
}

// slower counts what took longer than limit.
func slower(took []float64, limit time.Duration) float64 {
	n := 0.0
	for _, t := range took {
		if t > limit.Seconds() {
			n++
		}
	}
	return n
}

// postAll posts n frames to each of some servers, in turn, and returns for each
// how long a post took, in seconds. It writes and reads on the connections itself: a
// client's goroutines would be measured with it.
func postAll(b *testing.B, n int, servers ...string) [][]float64 {
	b.Helper()
	posters := make([]*poster, len(servers))
	for i, address := range servers {
		posters[i] = newPoster(b, address)
	}
	took := make([][]float64, len(servers))
	noise := strings.Repeat("lorem ipsum ", 170)
	for i := range n {
		text := noise[:100+i*37%1500]
		if i%10 == 0 {
			text = "!ja"
		}
		line := fmt.Sprintf(`{"jsonrpc":"2.0","method":"receive","params":{"account":%q,"envelope":{"source":%q,"sourceNumber":null,"sourceUuid":%[2]q,"sourceName":"p%d","sourceDevice":1,`+
			`"timestamp":%d,"serverReceivedTimestamp":%[4]d,"serverDeliveredTimestamp":%[4]d,"dataMessage":{"timestamp":%[4]d,"message":%q,"expiresInSeconds":0,"viewOnce":false}}}}`+"\n",
			stack.Number, person(i%1_000), i%1_000, time.Now().UnixMilli()+int64(i), text)
		for j, p := range posters {
			took[j] = append(took[j], p.post(b, line))
		}
	}
	return took
}

// poster is one connection to a server.
type poster struct {
	conn net.Conn
	in   *bufio.Reader
}

func newPoster(b *testing.B, address string) *poster {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &poster{conn, bufio.NewReader(conn)}
}

// post returns how long it took, in seconds.
func (p *poster) post(b *testing.B, line string) float64 {
	b.Helper()
	post := fmt.Sprintf("POST /webhook HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", p.conn.RemoteAddr(), len(line), line)
	began := time.Now()
	if _, err := io.WriteString(p.conn, post); err != nil {
		b.Fatal(err)
	}
	resp, err := http.ReadResponse(p.in, nil)
	if err != nil {
		b.Fatal(err)
	}
	took := time.Since(began).Seconds()
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b.Fatalf("status %d", resp.StatusCode)
	}
	return took
}
