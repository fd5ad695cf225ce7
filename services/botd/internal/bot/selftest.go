package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"quartet/kit/timing"
)

const (
	// selftestSender is the uuid that self-tests ask under. It is nobody's.
	selftestSender = "00000000-0000-4000-8000-000000000000"

	// defaultLease and maxLease bound how long one self-test lifts the cooldown
	// of selftestSender. The lease ends by itself, also when the tool that
	// asked for it was killed.
	defaultLease = 10 * time.Second
	maxLease     = 5 * time.Minute

	maxSelftestBody = 64 << 10
)

// SelftestRequest is the body of POST /_selftest.
type SelftestRequest struct {
	Text  string `json:"text"`            // what to ask, as "!pomoc"
	Lease string `json:"lease,omitempty"` // how long the cooldown stays lifted, a Go duration
}

// SelftestResult is the answer: the reply that was sent, and whose time it took.
type SelftestResult struct {
	Outcome string       `json:"outcome"`
	Error   string       `json:"error,omitempty"`
	Timing  timing.Times `json:"timing"`
}

// Selftest handles POST /_selftest: it puts a frame with the asked text into
// the reader's hands, as if it had come from the test group, waits until the
// reply has been sent there, and answers with the request's timing.
//
// It makes the bot send messages, so it serves only callers on this machine
// and refuses what a web page could make a browser post.
func (b *Bot) Selftest(w http.ResponseWriter, r *http.Request) {
	ask, status, err := b.readSelftest(w, r)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	v, err := b.selftest(r.Context(), ask)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	result := SelftestResult{Outcome: v.outcome.String(), Timing: v.times}
	if v.err != nil {
		result.Error = v.err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // the caller has gone if this fails
}

// selftestAsk is a checked SelftestRequest.
type selftestAsk struct {
	text  string
	lease time.Duration
}

func (b *Bot) readSelftest(w http.ResponseWriter, r *http.Request) (_ selftestAsk, status int, _ error) {
	var none selftestAsk
	switch {
	case b.options.SelftestGroup == "":
		return none, http.StatusConflict, errors.New("no group to answer into: set BOTD_SELFTEST_GROUP to the id of a test group")
	case !fromLoopback(r.RemoteAddr):
		return none, http.StatusForbidden, errors.New("self-tests are served to callers on this machine only")
	case r.Header.Get("Origin") != "" || r.Header.Get("Content-Type") != "application/json":
		return none, http.StatusUnsupportedMediaType, errors.New("send a JSON body with Content-Type: application/json, not from a web page")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSelftestBody))
	if err != nil {
		return none, http.StatusBadRequest, fmt.Errorf("read the body: %w", err)
	}
	var req SelftestRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return none, http.StatusBadRequest, fmt.Errorf(`read the body, {"text":"!pomoc","lease":"30s"}: %w`, err)
	}
	call, ok := b.Reader.Read(req.Text, nil)
	if !ok || b.commands.Load().Find(call.Name) == nil {
		return none, http.StatusBadRequest, fmt.Errorf("%q is no command of this bot", req.Text)
	}
	ask := selftestAsk{text: req.Text, lease: defaultLease}
	if req.Lease != "" {
		if ask.lease, err = time.ParseDuration(req.Lease); err != nil || ask.lease <= 0 || ask.lease > maxLease {
			return none, http.StatusBadRequest, fmt.Errorf("lease %q is no duration of at most %s", req.Lease, maxLease)
		}
	}
	return ask, 0, nil
}

// selftest sends one message through the bot and waits for its end.
func (b *Bot) selftest(ctx context.Context, ask selftestAsk) (verdict, error) {
	now := time.Now()
	b.Gate.Lift(selftestSender, now.Add(ask.lease))
	m := b.triage(ctx, selftestFrame(b.Number, b.options.SelftestGroup, ask.text, b.selftestTime(now)), time.Now())
	if m == nil {
		return verdict{}, errors.New("the frame of the self-test was not taken for a command")
	}
	end := make(chan verdict, 1)
	m.finished = func(v verdict) { end <- v }
	if b.keep(ctx, m, false) {
		b.enqueue(ctx, m, false)
	}
	select {
	case v := <-end:
		if v.times == (timing.Times{}) {
			return verdict{}, v.err
		}
		return v, nil
	case <-ctx.Done():
		return verdict{}, context.Cause(ctx)
	}
}

// selftestTime is the timestamp of one self-test, in milliseconds: no two have
// the same, or they were one message.
func (b *Bot) selftestTime(now time.Time) int64 {
	for {
		last := b.lastSelftest.Load()
		at := max(last+1, now.UnixMilli())
		if b.lastSelftest.CompareAndSwap(last, at) {
			return at
		}
	}
}

// selftestFrame is a frame as the server would have sent it.
func selftestFrame(account, group, text string, at int64) []byte {
	type object map[string]any
	raw, err := json.Marshal(object{
		"account": account,
		"envelope": object{
			"source": selftestSender, "sourceUuid": selftestSender, "sourceName": "selftest", "sourceDevice": 1,
			"timestamp": at,
			"dataMessage": object{
				"timestamp": at, "message": text,
				"groupInfo": object{"groupId": group, "type": "DELIVER"},
			},
		},
	})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return raw
}

// fromLoopback reports whether a request's remote address is this machine's.
func fromLoopback(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
