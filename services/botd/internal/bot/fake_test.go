package bot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"quartet/kit/pool"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/outbox"
	"quartet/services/botd/internal/signalapi"
	"quartet/services/botd/internal/transport"
)

const (
	number  = "+15550100000"
	groupID = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// patience is how long a test waits for what must come. It is never used up
// by a bot that works.
const patience = 20 * time.Second

// reply is one message that the bot sent.
type reply struct {
	Recipients []string `json:"recipients"`
	Message    string   `json:"message"`
	Pictures   []string `json:"base64_attachments"`

	QuoteTimestamp int64  `json:"quote_timestamp"`
	QuoteAuthor    string `json:"quote_author"`
	QuoteMessage   string `json:"quote_message"`
}

// rig is a running bot and the server that it talks to.
type rig struct {
	*bot.Bot
	t       *testing.T
	stop    func() // ends Run and waits for it
	replies chan reply
	frames  chan string
	cut     chan struct{} // ends the open websocket
	clock   atomic.Int64  // of everybody who writes; no two messages are of one moment
	reader  *metric.ManualReader
	out     outbox.Options
	onMade  func(*bot.Bot) // called before it runs; nil for nothing

	mu     sync.Mutex
	onSend http.HandlerFunc // guarded by mu; nil answers 201 at once
}

// newRig starts a bot with commands against a server of its own.
func newRig(t *testing.T, o bot.Options, commands ...*command.Command) *rig {
	t.Helper()
	return newRigLogging(t, slog.NewTextHandler(t.Output(), nil), o, commands...)
}

func newRigLogging(t *testing.T, log slog.Handler, o bot.Options, commands ...*command.Command) *rig {
	t.Helper()
	r := &rig{t: t, replies: make(chan reply, 1000), frames: make(chan string, 10_000), cut: make(chan struct{}), reader: metric.NewManualReader()}
	r.clock.Store(1000) // what the server sends is of another time
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	kept, end := bot.Remember(t, nil, "", 0)
	t.Cleanup(end)
	r.run(kept, log, o, func(in *timing.Instruments) transport.Transport {
		http := pool.New("signal", pool.Options{Start: in.Peer("signal").StartSend})
		t.Cleanup(http.CloseIdle)
		return signalapi.New(signalapi.Options{URL: base, Number: number}, http)
	}, commands...)
	r.eventually("ready", func() bool { return r.Ready(t.Context()) == nil })
	return r
}

// run starts the bot.
func (r *rig) run(p bot.Parts, log slog.Handler, o bot.Options, signal func(*timing.Instruments) transport.Transport, commands ...*command.Command) {
	t := r.t
	t.Helper()
	meters := metric.NewMeterProvider(metric.WithReader(r.reader))
	in, err := timing.New(meters, nil)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := asked.NewReader([]string{"!"}, asked.Self{Number: number})
	if err != nil {
		t.Fatal(err)
	}
	counters, err := bot.NewCounters(meters)
	if err != nil {
		t.Fatal(err)
	}
	p.Number, p.Signal, p.Reader, p.Instruments, p.Counters, p.Log = number, signal(in), reader, in, counters, slog.New(log)
	p.Serve(t, r.out, commands...)
	r.Bot = bot.New(p, withDefaults(o))
	if r.onMade != nil {
		r.onMade(r.Bot)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("Run did not end")
		}
	})
	t.Cleanup(r.stop)
}

func withDefaults(o bot.Options) bot.Options {
	set := func(d *time.Duration) {
		if *d == 0 {
			*d = patience
		}
	}
	set(&o.CommandTimeout)
	set(&o.SendTimeout)
	set(&o.DrainTimeout)
	if o.MaxAge == 0 {
		o.MaxAge = 10 * time.Minute
	}
	if o.Groups == nil {
		o.EveryGroup, o.Direct = true, true
	}
	if o.Limit == 0 {
		o.Limit = 8
	}
	if o.BacklogBytes == 0 {
		o.BacklogBytes = 1 << 20
	}
	if o.SenderWaiting == 0 {
		o.SenderWaiting = 16
	}
	return o
}

// ServeHTTP is the server's side.
func (r *rig) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	switch q.URL.Path {
	case "/v1/about":
		fmt.Fprint(w, `{"mode":"json-rpc"}`)
	case "/v1/accounts":
		fmt.Fprintf(w, `[%q]`, number)
	case "/v1/receive/" + number:
		r.socket(w, q)
	case "/v2/send":
		r.send(w, q)
	default:
		http.NotFound(w, q)
	}
}

func (r *rig) socket(w http.ResponseWriter, q *http.Request) {
	c, err := websocket.Accept(w, q, nil)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer c.CloseNow()
	ctx := c.CloseRead(q.Context())
	for {
		select {
		case f := <-r.frames:
			if c.Write(ctx, websocket.MessageText, []byte(f)) != nil {
				return
			}
		case <-r.cut:
			return
		case <-ctx.Done():
			return
		}
	}
}

// closeSocket breaks the open websocket.
func (r *rig) closeSocket() { r.cut <- struct{}{} }

func (r *rig) send(w http.ResponseWriter, q *http.Request) {
	var got reply
	if err := json.NewDecoder(q.Body).Decode(&got); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	onSend := r.onSend
	r.mu.Unlock()
	r.replies <- got
	if onSend != nil {
		onSend(w, q)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprint(w, `{"timestamp":"1"}`)
}

func (r *rig) answerSendsWith(h http.HandlerFunc) {
	r.mu.Lock()
	r.onSend = h
	r.mu.Unlock()
}

// say lets sender write text into the group.
func (r *rig) say(sender, text string) {
	r.t.Helper()
	raw, err := json.Marshal(map[string]any{"account": number, "envelope": map[string]any{
		"sourceUuid": sender, "sourceName": strings.ToUpper(sender), "timestamp": r.clock.Add(1),
		"dataMessage": map[string]any{"message": text, "groupInfo": map[string]any{"groupId": groupID, "type": "DELIVER"}},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.frames <- string(raw)
}

// next is the next reply sent.
func (r *rig) next() reply {
	r.t.Helper()
	select {
	case got := <-r.replies:
		return got
	case <-time.After(patience):
		r.t.Fatal("no reply came")
		return reply{}
	}
}

// eventually waits until cond holds.
func (r *rig) eventually(what string, cond func() bool) {
	r.t.Helper()
	r.eventuallyIn(patience, what, cond)
}

func (r *rig) eventuallyIn(within time.Duration, what string, cond func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(within); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("never: %s", what)
		}
	}
}

// count is the value of a counter, or the number of values in a histogram, at
// the attribute key=value.
func (r *rig) count(name, key, value string) int64 {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &all); err != nil {
		r.t.Fatal(err)
	}
	var n int64
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if v, ok := p.Attributes.Value(attribute.Key(key)); ok && v.AsString() == value {
						n += p.Value
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					if v, ok := p.Attributes.Value(attribute.Key(key)); ok && v.AsString() == value {
						n += int64(p.Count)
					}
				}
			}
		}
	}
	return n
}

// sum is the value of a counter or gauge, over all its attributes.
func (r *rig) sum(name string) (n float64) {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &all); err != nil {
		r.t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					n += float64(p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					n += p.Value
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					n += p.Value
				}
			default:
				r.t.Fatalf("%s is a %T", name, data)
			}
		}
	}
	return n
}

func (r *rig) dropped(reason string) int64 { return r.count("quartet.botd.dropped", "reason", reason) }

func (r *rig) outcomes(outcome string) int64 {
	return r.count("quartet.request.duration", "outcome", outcome)
}
