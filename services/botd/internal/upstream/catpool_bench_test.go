package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
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

// asked is how many pictures each way is asked for.
const asked = 60

// way is a way to a picture, between a simulator of its own and a pool.
type way struct {
	name  string
	fresh bool // a search for each picture
	ready int
}

var ways = []way{
	{name: "nothing", fresh: true},
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
	{"one-every-2s", 1, 2 * time.Second},
	{"ten-every-10s", 10, 10 * time.Second},
}

// BenchmarkCatPool asks for pictures with the latencies of the live bot, without
// a pool and with what it can keep. An operation is one picture, at the median.
// Searches and downloads are for 100 pictures, upstream is what all calls for
// one took, whoever waited. All ways are measured at once, because nearly all of
// it is waiting; even so it takes three minutes, and is left out where it is not
// asked for by its name.
func BenchmarkCatPool(b *testing.B) {
	if !strings.Contains(flag.Lookup("test.bench").Value.String(), "CatPool") {
		b.Skip("takes three minutes: -bench CatPool")
	}
	program := filepath.Join(b.TempDir(), "simweb")
	if out, err := exec.Command("go", "build", "-C", "../../../../sim", "-o", program, "./cmd/simweb").CombinedOutput(); err != nil {
		b.Fatalf("build simweb: %v\n%s", err, out)
	}
	all := make([]figures, len(paces)*len(ways))
	var wg sync.WaitGroup
	for i, p := range paces {
		for j, w := range ways {
			wg.Go(func() { all[i*len(ways)+j] = w.measure(b, program, p.burst, p.gap) })
		}
	}
	wg.Wait()
	for i, p := range paces {
		for j, w := range ways {
			b.Run(p.name+"/"+w.name, func(b *testing.B) {
				for unit, v := range all[i*len(ways)+j] {
					b.ReportMetric(v, unit)
				}
			})
		}
	}
}

// figures are by unit.
type figures map[string]float64

func (w way) measure(t testing.TB, program string, burst int, gap time.Duration) figures {
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
	return figures{
		"ns/op":         float64(took[asked/2]),
		"p95-ms":        milliseconds(took[asked*95/100]),
		"upstream-ms":   milliseconds(time.Duration(busy.Load() / asked)),
		"searches/100":  100 * stats.Searches / asked,
		"downloads/100": 100 * stats.Pictures / asked,
		"held-MiB":      float64(held.Load()) / (1 << 20),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// simulator starts one, and returns where it is.
func simulator(t testing.TB, program string) *url.URL {
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

func steer(t testing.TB, base *url.URL, method, path string) []byte {
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
func await(t testing.TB, so func() bool) {
	for limit := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Error("it never was so")
			return
		}
	}
}
