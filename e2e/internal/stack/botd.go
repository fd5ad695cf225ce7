package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// Number is the bot's number in all tests, and GroupID the internal id of the
// group that simsignal knows.
const (
	Number  = "+15550100000"
	GroupID = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// Botd is botd with the two simulators that it lives between.
type Botd struct {
	*Process
	Admin  string // base URL of its admin server
	Signal Sim
	Web    Sim
}

// Options change how the three are started.
type Options struct {
	Env    []string // more variables for botd
	RPC    bool     // botd speaks JSON-RPC to simsignal in manual mode, not REST
	Signal []string // more flags for simsignal
	Web    []string // more flags for simweb
}

// StartBotd starts simsignal, simweb and botd, and waits until botd is ready.
func StartBotd(t testing.TB, o Options) *Botd {
	t.Helper()
	signal, web, admin := FreeAddr(t), FreeAddr(t), FreeAddr(t)
	b := &Botd{Admin: "http://" + admin, Signal: Sim{"http://" + signal}, Web: Sim{"http://" + web}}
	Start(t, "simweb", nil, append([]string{"-listen", web}, o.Web...)...).WaitHTTP(t, b.Web.URL+"/_sim/stats", http.StatusOK)
	way := b.Signal.URL
	if o.RPC {
		rpc := FreeAddr(t)
		way = "tcp://" + rpc
		o.Signal = append(o.Signal, "-rpc", rpc, "-receive-mode", "manual")
	}
	Start(t, "simsignal", nil, append([]string{"-listen", signal}, o.Signal...)...).WaitHTTP(t, b.Signal.URL+"/v1/health", http.StatusNoContent)
	b.Process = Start(t, "botd", append([]string{
		"BOTD_SIGNAL_URL=" + way,
		"BOTD_NUMBER=" + Number,
		"BOTD_CAT_URL=" + b.Web.URL,
		"BOTD_COMMONS_URL=" + b.Web.URL,
		"BOTD_UPSTREAM_ALLOW=" + web,
		"BOTD_ADMIN_ADDR=" + admin,
		"BOTD_SELFTEST_GROUP=" + GroupID,
	}, o.Env...))
	b.WaitHTTP(t, b.Admin+"/readyz", http.StatusOK)
	return b
}

// Sim is a simulator's control surface.
type Sim struct{ URL string }

// Frame is a message for the simulator to emit.
type Frame struct {
	Text   string `json:"text"`
	Sender string `json:"sender"`
	Name   string `json:"name,omitempty"`
	Group  string `json:"group"`
}

// Say emits frames, one per spacing.
func (s Sim) Say(t testing.TB, spacing time.Duration, frames ...Frame) {
	t.Helper()
	s.call(t, http.MethodPost, "/_sim/frames?spacing="+spacing.String(), frames, nil)
}

// Sent is a message that the simulator was asked to send.
type Sent struct {
	Seq         int64     `json:"seq"`
	At          time.Time `json:"at"`
	Recipients  []string  `json:"recipients"`
	Message     string    `json:"message"`
	Attachments []struct {
		ContentType string `json:"contentType"`
		Bytes       int64  `json:"bytes"`
	} `json:"attachments"`
}

// Sends returns the messages sent after the one numbered after, waiting for at
// least one, and the number to go on from.
func (s Sim) Sends(t testing.TB, after int64, wait time.Duration) ([]Sent, int64) {
	t.Helper()
	var page struct {
		Sends []Sent `json:"sends"`
		Next  int64  `json:"next"`
	}
	s.call(t, http.MethodGet, fmt.Sprintf("/_sim/sends?after=%d&wait=%s", after, url.QueryEscape(wait.String())), nil, &page)
	return page.Sends, page.Next
}

// Put replaces settings of the simulator, as "quirks" or "latency".
func (s Sim) Put(t testing.TB, what string, settings any) {
	t.Helper()
	s.call(t, http.MethodPut, "/_sim/"+what, settings, nil)
}

// Disconnect cuts the websockets.
func (s Sim) Disconnect(t testing.TB) {
	t.Helper()
	s.call(t, http.MethodPost, "/_sim/disconnect?what=ws", nil, nil)
}

// Stats returns what the simulator counts.
func (s Sim) Stats(t testing.TB) map[string]any {
	t.Helper()
	stats := map[string]any{}
	s.call(t, http.MethodGet, "/_sim/stats", nil, &stats)
	return stats
}

func (s Sim) call(t testing.TB, method, path string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: status %d, %v: %s", method, path, resp.StatusCode, err, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, raw)
		}
	}
}
