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

// Sim is a simulator's control surface.
type Sim struct{ URL string }

// Frame is a message for the simulator to emit. Without a timestamp it gets
// that of its emission.
type Frame struct {
	Text      string `json:"text"`
	Sender    string `json:"sender"`
	Name      string `json:"name,omitempty"`
	Group     string `json:"group"`
	Timestamp int64  `json:"timestamp,omitempty"`
	EditOf    int64  `json:"edit_of,omitempty"`
}

// Say emits frames, one per spacing.
func (s Sim) Say(t testing.TB, spacing time.Duration, frames ...Frame) {
	t.Helper()
	s.call(t, http.MethodPost, "/_sim/frames?spacing="+spacing.String(), frames, nil)
}

// Load has the simulator make frames while it emits them: frame i is by person
// i modulo people, whose name is p and a number, and each person writes in one
// of the groups.
type Load struct {
	Count    int     `json:"count"`
	Spacing  string  `json:"spacing,omitempty"` // as fast as they are taken without
	People   int     `json:"people"`
	Groups   int     `json:"groups"` // 0: all write to the bot itself
	Text     string  `json:"text"`
	First    int     `json:"first"`               // number of the first person
	Noise    float64 `json:"noise,omitempty"`     // share of frames that are no commands
	NoiseMin int     `json:"noise_min,omitempty"` // their size in bytes
	NoiseMax int     `json:"noise_max,omitempty"`
}

// Emit emits a load, and returns how many of its frames are commands.
func (s Sim) Emit(t testing.TB, l Load) (commands int) {
	t.Helper()
	var answer struct {
		Commands int `json:"commands"`
	}
	s.call(t, http.MethodPost, "/_sim/frames", l, &answer)
	return answer.Commands
}

// Latencies is how long answers took to come, by the simulator's clock.
type Latencies struct {
	Answered int64 `json:"answered"`
	Emission struct {
		P50 float64 `json:"p50_ms"`
		P99 float64 `json:"p99_ms"`
	} `json:"emission"` // from a frame's emission to the request that sends the answer
}

// Latencies returns what was measured since the last reset.
func (s Sim) Latencies(t testing.TB) Latencies {
	t.Helper()
	var l Latencies
	s.call(t, http.MethodGet, "/_sim/latencies", nil, &l)
	return l
}

// Overlaps is how many sends began while another one to the same chat went on.
func (s Sim) Overlaps(t testing.TB) (overlaps int64) {
	t.Helper()
	var o struct {
		Overlaps int64 `json:"overlaps"`
	}
	s.call(t, http.MethodGet, "/_sim/overlaps", nil, &o)
	return o.Overlaps
}

// Reset empties the simulator's logs and counters.
func (s Sim) Reset(t testing.TB) {
	t.Helper()
	s.call(t, http.MethodPost, "/_sim/reset", nil, nil)
}

// Sent is a message that the simulator was asked to send.
type Sent struct {
	At          time.Time `json:"at"`   // its request was read
	Done        time.Time `json:"done"` // it was delivered
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

// Number is one of the simulator's counters.
func (s Sim) Number(t testing.TB, name string) int64 {
	t.Helper()
	n, _ := s.Stats(t)[name].(float64)
	return int64(n)
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
