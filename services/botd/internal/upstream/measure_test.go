package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/upstream"
)

var measured = flag.Bool("measure", false, "measure what pools of addresses and of pictures buy; takes two minutes")

// asked is how many pictures each way is asked for.
const asked = 60

// way is a way to a picture, between a simulator of its own and a pool.
type way struct {
	name  string
	fresh bool // a search for each picture
	ready int
}

var ways = []way{
	{name: "neither", fresh: true},
	{name: "addresses", fresh: false},
	{name: "pictures", fresh: true, ready: 4},
	{name: "both", ready: 4},
}

// paces are how people ask: how many at once, and how long after.
var paces = []struct {
	name  string
	burst int
	gap   time.Duration
}{
	{"one every 2 s", 1, 2 * time.Second},
	{"ten at once, every 10 s", 10, 10 * time.Second},
}

// TestWhatPoolsBuy measures with the latencies of the live bot, and asserts
// nothing: docs/latency.md has the table.
func TestWhatPoolsBuy(t *testing.T) {
	if !*measured {
		t.Skip("run with -args -measure")
	}
	program := filepath.Join(t.TempDir(), "simweb")
	if out, err := exec.Command("go", "build", "-C", "../../../../sim", "-o", program, "./cmd/simweb").CombinedOutput(); err != nil {
		t.Fatalf("build simweb: %v\n%s", err, out)
	}
	lines := make([]string, len(paces)*len(ways))
	var wg sync.WaitGroup
	for i, p := range paces {
		for j, w := range ways {
			wg.Go(func() { // nearly all of it is waiting
				lines[i*len(ways)+j] = fmt.Sprintf("| %s | %s | %s", p.name, w.name, w.measure(t, program, p.burst, p.gap))
			})
		}
	}
	wg.Wait()
	t.Logf("%d pictures each\n| asked for | pool of | p50 ms | p95 ms | upstream ms each | searches | downloads | MiB held |\n|%s\n%s",
		asked, strings.Repeat("---|", 8), strings.Join(lines, "\n"))
}

// measure returns the rest of a line of the table.
func (w way) measure(t *testing.T, program string, burst int, gap time.Duration) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	base := simulator(t, program)
	var busy atomic.Int64 // at the API, whoever waits
	g := upstream.NewGuard([]string{base.Host}, net.Dialer{})
	client := pool.New("web", pool.Options{Dial: g.Dial, Start: func(ctx context.Context, _ string) (context.Context, func(pool.Call)) {
		return ctx, func(c pool.Call) { busy.Add(int64(c.Total)) }
	}})
	defer client.CloseIdle()
	pictures := upstream.NewPictures("botd-measure", client, hosts(t, base.Host))
	cats := func() *upstream.CatAPI { return upstream.NewCatAPI(base, "", "botd-measure", client, pictures) }
	fetch := cats().Random
	if w.fresh {
		fetch = func(ctx context.Context) (upstream.Picture, error) { return cats().Random(ctx) }
	}
	p := upstream.NewCatPool(fetch, upstream.CatPoolOptions{Ready: w.ready, Log: slog.New(slog.DiscardHandler)})
	go func() { _ = p.Run(ctx) }()
	full := func() bool { return p.Stats().Ready == w.ready }
	await(t, full)
	steer(t, base, http.MethodPost, "/_sim/reset")
	busy.Store(0)

	took := make([]time.Duration, asked)
	var held atomic.Int64
	var wg sync.WaitGroup
	for i := range asked {
		wg.Go(func() {
			began := time.Now()
			if _, err := p.Random(ctx); err != nil {
				t.Error(err)
			}
			took[i] = time.Since(began)
			held.Store(max(held.Load(), p.Stats().Bytes))
		})
		if (i+1)%burst == 0 {
			wg.Wait()
			time.Sleep(gap)
		}
	}
	await(t, full)
	held.Store(max(held.Load(), p.Stats().Bytes))
	slices.Sort(took)
	var stats struct{ Searches, Pictures float64 }
	if err := json.Unmarshal(steer(t, base, http.MethodGet, "/_sim/stats"), &stats); err != nil {
		t.Error(err)
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("%.3f | %.3f | %.0f | %.0f | %.0f | %.1f |", ms(took[asked/2]), ms(took[asked*95/100]),
		ms(time.Duration(busy.Load()/asked)), 100*stats.Searches/asked, 100*stats.Pictures/asked, float64(held.Load())/(1<<20))
}

// simulator starts one, and returns where it is.
func simulator(t *testing.T, program string) *url.URL {
	cmd := exec.Command(program, "-listen", "127.0.0.1:0", "-seed-latencies")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return &url.URL{}
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	_, address, _ := strings.Cut(strings.TrimSpace(line), " ")
	base, err := url.Parse(address)
	if err != nil {
		t.Error(err)
	}
	return base
}

func steer(t *testing.T, base *url.URL, method, path string) []byte {
	req, err := http.NewRequestWithContext(t.Context(), method, base.JoinPath(path).String(), nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	var body json.RawMessage
	_ = json.NewDecoder(resp.Body).Decode(&body) // a reset has none
	return body
}

// await waits until something is so.
func await(t *testing.T, so func() bool) {
	for limit := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Error("it never was so")
			return
		}
	}
}
