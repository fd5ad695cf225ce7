package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/webhook"
)

const (
	token = "0123456789abcdef"
	frame = `{"account":"+15550100000","envelope":{"timestamp":1}}`
	line  = `{"jsonrpc":"2.0","method":"receive","params":` + frame + `}`
)

// missed counts the posts that came while nobody received, and replied those
// whose answer's time was told.
var missed, replied atomic.Int64

// receiver notes what it is told.
type receiver struct {
	opens, alive int
	frames       []string
	rejected     map[transport.Reject]int64
}

func (r *receiver) Open()  { r.opens++ }
func (r *receiver) Alive() { r.alive++ }

func (r *receiver) Frame(_ context.Context, raw []byte) { r.frames = append(r.frames, string(raw)) }

func (r *receiver) Rejected(why transport.Reject, bytes int64) {
	if r.rejected == nil {
		r.rejected = map[transport.Reject]int64{}
	}
	r.rejected[why] += bytes
}

// receiving returns a handler that hands on to a receiver, and what ends that.
func receiving(t *testing.T, token string, to transport.Receiver) (h *webhook.Handler, end func()) {
	t.Helper()
	h, err := webhook.New(token, func() { missed.Add(1) }, func(time.Duration) { replied.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	opened := make(chan struct{})
	go func() { ended <- h.Receive(ctx, &opening{to, opened}) }()
	<-opened
	return h, sync.OnceFunc(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended by %v", err)
		}
	})
}

type opening struct {
	transport.Receiver
	opened chan struct{}
}

func (o *opening) Open() {
	o.Receiver.Open()
	close(o.opened)
}

func post(h http.Handler, path string, body io.Reader, change ...func(*http.Request)) int {
	r := httptest.NewRequest(http.MethodPost, path, body)
	r.RemoteAddr = "127.0.0.1:5000"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

func TestFramesAreHandedOnInOrderAndAnswered(t *testing.T) {
	var to receiver
	h, end := receiving(t, "", &to)
	told := replied.Load()
	for i := range 100 {
		body := strings.Replace(line, `"timestamp":1`, fmt.Sprintf(`"timestamp":%d`, i), 1)
		if code := post(h, "/hook", strings.NewReader(body)); code != http.StatusOK {
			t.Fatalf("answered %d", code)
		}
	}
	end()
	if len(to.frames) != 100 || to.opens != 1 || to.alive != 100 || replied.Load()-told != 100 {
		t.Errorf("%d frames, %d signs of life, told of %d answers", len(to.frames), to.alive, replied.Load()-told)
	}
	for i, f := range to.frames {
		if want := strings.Replace(frame, `"timestamp":1`, fmt.Sprintf(`"timestamp":%d`, i), 1); f != want {
			t.Errorf("frame %d is %s", i, f)
		}
	}
}

func TestWhatIsNoFrameIsRefusedAndCounted(t *testing.T) {
	giant := `{"method":"receive","params":{"account":"` + strings.Repeat("x", transport.MaxFrame) + `"}}`
	for name, c := range map[string]struct {
		body io.Reader
		code int
		why  transport.Reject
	}{
		"nothing":            {strings.NewReader(""), 400, transport.RejectNoFrame},
		"no JSON":            {strings.NewReader("garbage"), 400, transport.RejectNoFrame},
		"half a line":        {strings.NewReader(line[:40]), 400, transport.RejectNoFrame},
		"no notification":    {strings.NewReader(frame), 400, transport.RejectNoFrame},
		"an answer":          {strings.NewReader(`{"id":"1","result":{}}`), 400, transport.RejectNoFrame},
		"another event":      {strings.NewReader(`{"method":"callEvent","params":{"account":"x"}}`), 400, transport.RejectNoFrame},
		"too long":           {strings.NewReader(giant), 413, transport.RejectTooLong},
		"too long, unsized":  {iotest.OneByteReader(io.LimitReader(zeros{}, transport.MaxFrame+1)), 413, transport.RejectTooLong},
		"a body that breaks": {io.MultiReader(strings.NewReader(line), iotest.ErrReader(io.ErrUnexpectedEOF)), 400, transport.RejectNoFrame},
	} {
		t.Run(name, func(t *testing.T) {
			var to receiver
			h, end := receiving(t, "", &to)
			code := post(h, "/", c.body)
			end()
			if _, counted := to.rejected[c.why]; code != c.code || !counted || len(to.rejected) != 1 || len(to.frames) != 0 {
				t.Errorf("answered %d, rejected %v, %d frames", code, to.rejected, len(to.frames))
			}
			if c.why == transport.RejectTooLong && to.rejected[c.why] <= transport.MaxFrame {
				t.Errorf("%d bytes", to.rejected[c.why])
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestOnlyWhoMayPostIsHeard(t *testing.T) {
	from := func(address string) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr = address }
	}
	for name, c := range map[string]struct {
		token, path string
		change      func(*http.Request)
		code        int
	}{
		"this machine":              {"", "/", from("127.0.0.1:1"), 200},
		"this machine by IPv6":      {"", "/", from("[::1]:1"), 200},
		"this machine, mapped":      {"", "/", from("[::ffff:127.0.0.9]:1"), 200},
		"another machine":           {"", "/", from("192.0.2.1:1"), 403},
		"nobody knows who":          {"", "/", from("@"), 403},
		"a page in a browser":       {"", "/", func(r *http.Request) { r.Header.Set("Origin", "https://example.com") }, 403},
		"the token from afar":       {token, "/hook/" + token, from("192.0.2.1:1"), 200},
		"the token, no other path":  {token, "/" + token, from("192.0.2.1:1"), 200},
		"no token":                  {token, "/hook/", from("127.0.0.1:1"), 404},
		"a wrong token":             {token, "/hook/" + token + "x", from("127.0.0.1:1"), 404},
		"a token in the wrong case": {token, "/hook/" + strings.ToUpper(token), from("127.0.0.1:1"), 404},
		"the token too early":       {token, "/" + token + "/hook", from("127.0.0.1:1"), 404},
		"a token in the query":      {token, "/hook?" + token, from("127.0.0.1:1"), 404},
		"another method":            {"", "/", func(r *http.Request) { r.Method = http.MethodGet }, 405},
	} {
		t.Run(name, func(t *testing.T) {
			var to receiver
			h, end := receiving(t, c.token, &to)
			code := post(h, c.path, strings.NewReader(line), c.change)
			end()
			if code != c.code || (len(to.frames) == 1) != (code == 200) || len(to.rejected) != 0 {
				t.Errorf("answered %d, want %d; %d frames", code, c.code, len(to.frames))
			}
		})
	}
}

func TestABadTokenIsRefused(t *testing.T) {
	for _, bad := range []string{"short", strings.Repeat("x", 15), "0123456789abcde/", "0123456789abcdefż", "0123456789abcdef%20"} {
		if _, err := webhook.New(bad, nil, nil); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestPostsThatNobodyReceivesAreCounted(t *testing.T) {
	var to receiver
	h, end := receiving(t, "", &to)
	end()
	for range 3 {
		if code := post(h, "/", strings.NewReader(line)); code != http.StatusServiceUnavailable {
			t.Errorf("answered %d", code)
		}
	}
	if n := missed.Swap(0); n != 3 || len(to.frames) != 0 {
		t.Errorf("missed %d, %d frames after the end", n, len(to.frames))
	}
}

func TestOneReceivesAtATimeAndAnotherAfterwards(t *testing.T) {
	var first, second receiver
	h, end := receiving(t, "", &first)
	if err := h.Receive(t.Context(), &second); err == nil || second.opens != 0 {
		t.Errorf("a second receiver: %v", err)
	}
	end()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := h.Receive(ctx, &second); !errors.Is(err, context.Canceled) || second.opens != 1 {
		t.Errorf("a later receiver: %v", err)
	}
}

// A post whose body comes slowly, or never, keeps nobody else waiting.
func TestASlowPostHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to receiver
		h, end := receiving(t, "", &to)
		body, rest := io.Pipe()
		slow := make(chan int, 1)
		go func() { slow <- post(h, "/", body) }()
		synctest.Wait()
		for range 5 {
			if code := post(h, "/", strings.NewReader(line)); code != http.StatusOK {
				t.Errorf("answered %d", code)
			}
		}
		_, _ = io.WriteString(rest, line)
		rest.Close()
		if code := <-slow; code != http.StatusOK {
			t.Errorf("the slow one: %d", code)
		}
		end()
		if len(to.frames) != 6 {
			t.Errorf("%d frames", len(to.frames))
		}
	})
}

func TestManyPostsAtOnceReachTheReceiverOneByOne(t *testing.T) {
	var to receiver // has no lock: the race detector watches
	h, end := receiving(t, token, &to)
	s := httptest.NewServer(h)
	defer s.Close()
	var posting sync.WaitGroup
	for range 8 {
		posting.Go(func() {
			for range 50 {
				resp, err := http.Post(s.URL+"/"+token, "application/json", strings.NewReader(line))
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK || resp.ContentLength != 0 {
					t.Errorf("answered %d, %d bytes", resp.StatusCode, resp.ContentLength)
				}
			}
		})
	}
	posting.Wait()
	end()
	if len(to.frames) != 400 {
		t.Errorf("%d frames", len(to.frames))
	}
}

// The container handles one thing at a time: while its post is open no call of
// ours is answered. A handler that waited for work which a frame has begun would
// wait for ever, and the imitated clock would say so.
func TestAPostIsAnsweredBeforeTheWorkThatItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		container := make(chan struct{}, 1)
		sent := make(chan context.Context, 1)
		to := working{func(ctx context.Context) {
			go func() {
				container <- struct{}{} // a send that is answered
				<-container
				sent <- ctx
			}()
		}}
		h, end := receiving(t, "", &to)
		container <- struct{}{}
		code := post(h, "/", strings.NewReader(line))
		<-container
		ctx := <-sent
		if code != http.StatusOK || ctx.Err() != nil {
			t.Errorf("answered %d; the work that goes on: %v", code, ctx.Err())
		}
		end()
		if ctx.Err() == nil {
			t.Error("the link has ended and the frame's context has not")
		}
	})
}

// working is a receiver whose frames begin some work.
type working struct{ begin func(context.Context) }

func (*working) Open()                                 {}
func (*working) Alive()                                {}
func (*working) Rejected(transport.Reject, int64)      {}
func (w *working) Frame(ctx context.Context, _ []byte) { w.begin(ctx) }

// A poster that hangs up has posted all the same, if its frame was whole.
func TestAFrameIsHandedOnThoughItsPosterHasGone(t *testing.T) {
	var to working
	var err error
	to.begin = func(ctx context.Context) { err = ctx.Err() }
	h, end := receiving(t, "", &to)
	code := post(h, "/", strings.NewReader(line), func(r *http.Request) {
		ctx, gone := context.WithCancel(r.Context())
		gone()
		*r = *r.WithContext(ctx)
	})
	end()
	if code != http.StatusOK || err != nil {
		t.Errorf("answered %d; %v", code, err)
	}
}

func BenchmarkPost(b *testing.B) {
	h, err := webhook.New("", func() {}, func(time.Duration) {})
	if err != nil {
		b.Fatal(err)
	}
	opened := make(chan struct{})
	go func() { _ = h.Receive(b.Context(), &opening{&working{func(context.Context) {}}, opened}) }()
	<-opened
	for _, size := range []int{500, 1 << 20} {
		body := strings.Replace(line, `"timestamp":1`, `"x":"`+strings.Repeat("x", size)+`"`, 1)
		b.Run(fmt.Sprint(size, "B"), func(b *testing.B) {
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.RemoteAddr = "127.0.0.1:5000"
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				r.Body = io.NopCloser(strings.NewReader(body))
				h.ServeHTTP(w, r)
			}
			if w.Code != http.StatusOK {
				b.Fatal(w.Code)
			}
		})
	}
}

func FuzzPost(f *testing.F) {
	for _, frame := range []string{
		`{"account":"+1","envelope":{"editMessage":{"targetSentTimestamp":1,"dataMessage":{"message":"!kot \u003c3"}}}}`,
		`{"account":"+1","envelope":{"syncMessage":{"sentMessage":{"destination":null,"message":"!ja","groupInfo":{"groupId":"AAEC"}}}}}`,
		`{"account":"+1","exception":{"message":"…","type":"InvalidMessageStructureException"}}`,
	} {
		f.Add(`{"jsonrpc":"2.0","method":"receive","params":` + frame + `}`)
	}
	for _, seed := range []string{line, frame, "", "{", `{"method":"receive","error":{"message":"x"}}`, `{"method":"receive","params":{"subscription":0,"result":` + frame + `}}`} {
		f.Add(seed)
	}
	var to receiver
	h, err := webhook.New("", func() {}, func(time.Duration) {})
	if err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	f.Cleanup(stop)
	opened := make(chan struct{})
	go func() { _ = h.Receive(ctx, &opening{&to, opened}) }()
	<-opened
	f.Fuzz(func(t *testing.T, body string) {
		to.frames, to.rejected = nil, nil
		code := post(h, "/", strings.NewReader(body))
		if taken := code == http.StatusOK; taken != (len(to.frames) == 1) || taken == (len(to.rejected) == 1) {
			t.Errorf("%q: answered %d, %d frames, rejected %v", body, code, len(to.frames), to.rejected)
		}
	})
}
