// Package steer is simsignal's own control surface under /_sim/: it emits
// frames, reads what was sent, resets and disconnects. Quirks and latencies
// are package control's.
//
// Guarantee: a body of frames is queued whole or refused whole.
package steer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"quartet/sim/internal/control"
	"quartet/sim/internal/groupchat"
	"quartet/sim/internal/jsonrpc"
	"quartet/sim/internal/restapi"
	"quartet/sim/internal/signalnet"
)

const (
	maxFrames = 64 << 20         // bytes of one body of frames
	maxWait   = 60 * time.Second // of one long poll
	maxPage   = 10_000           // sends in one answer
)

// Panel is what can be steered.
type Panel struct {
	Net  *signalnet.Network
	REST *restapi.API
	RPC  *jsonrpc.Server
	Chat *groupchat.Chat
}

// Mount adds the surface to mux.
func (p Panel) Mount(mux *http.ServeMux) {
	control.Mount(mux, p.Net.Quirks, p.Net.Latency)
	mux.HandleFunc("GET /_sim/info", p.info)
	mux.HandleFunc("POST /_sim/frames", p.frames)
	mux.HandleFunc("GET /_sim/sends", p.sends)
	mux.HandleFunc("GET /_sim/stats", p.stats)
	mux.HandleFunc("POST /_sim/reset", p.reset)
	mux.HandleFunc("POST /_sim/disconnect", p.disconnect)
}

func (p Panel) info(w http.ResponseWriter, _ *http.Request) {
	groups := []map[string]string{}
	for _, g := range p.Net.Groups {
		groups = append(groups, map[string]string{"name": g.Name, "internal_id": g.ID, "id": g.PublicID()})
	}
	control.Answer(w, http.StatusOK, map[string]any{"number": p.Net.Number, "groups": groups, "receive_mode": p.Net.Mode})
}

func (p Panel) frames(w http.ResponseWriter, r *http.Request) {
	spacing, err := duration(r, "spacing", time.Hour)
	if err != nil {
		control.Fail(w, http.StatusBadRequest, err)
		return
	}
	specs, err := readSpecs(http.MaxBytesReader(w, r.Body, maxFrames), strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-ndjson"))
	if err != nil {
		control.Fail(w, http.StatusBadRequest, err)
		return
	}
	if err := p.Net.Enqueue(specs, spacing); err != nil {
		control.Fail(w, http.StatusTooManyRequests, err)
		return
	}
	control.Answer(w, http.StatusAccepted, map[string]int{"queued": len(specs)})
}

// readSpecs reads an array, or with lines one object a line.
func readSpecs(body io.Reader, lines bool) ([]signalnet.Spec, error) {
	decoder := json.NewDecoder(body)
	var specs []signalnet.Spec
	if !lines {
		if err := decoder.Decode(&specs); err != nil {
			return nil, fmt.Errorf("read frames: want a JSON array: %w", err)
		}
	}
	for lines {
		var s signalnet.Spec
		err := decoder.Decode(&s)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read frame %d: %w", len(specs)+1, err)
		}
		specs = append(specs, s)
	}
	for i, s := range specs {
		if len(s.Raw) == 0 && s.Sender == "" {
			return nil, fmt.Errorf("frame %d: want a sender", i+1)
		}
		// A frame is one line of JSON-RPC, whatever the body looked like.
		if len(s.Raw) > 0 {
			var compact bytes.Buffer
			if err := json.Compact(&compact, s.Raw); err != nil {
				return nil, fmt.Errorf("frame %d: %w", i+1, err)
			}
			specs[i].Raw = compact.Bytes()
		}
	}
	return specs, nil
}

// sends answers with what was delivered after a number; with wait it waits for the first.
func (p Panel) sends(w http.ResponseWriter, r *http.Request) {
	wait, err := duration(r, "wait", maxWait)
	if err != nil {
		control.Fail(w, http.StatusBadRequest, err)
		return
	}
	after, err := number(r, "after")
	if err != nil {
		control.Fail(w, http.StatusBadRequest, err)
		return
	}
	if wait > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		_ = p.Net.WaitSent(ctx, after) // what came by then is answered
	}
	list, next := p.Net.Sent(after, maxPage)
	if list == nil {
		list = []signalnet.Sent{}
	}
	control.Answer(w, http.StatusOK, map[string]any{"sends": list, "next": next})
}

func (p Panel) stats(w http.ResponseWriter, _ *http.Request) {
	control.Answer(w, http.StatusOK, struct {
		signalnet.Stats
		WSClients        int64 `json:"ws_clients"`
		RPCClients       int64 `json:"rpc_clients"`
		RPCSubscriptions int64 `json:"rpc_subscriptions"`
	}{p.Net.Stats(), p.REST.Clients(), p.RPC.Clients(), p.RPC.Subscriptions()})
}

func (p Panel) reset(w http.ResponseWriter, _ *http.Request) {
	p.Net.Quirks.Reset()
	p.Net.Latency.Reset()
	p.Net.Reset()
	p.Chat.Reset()
	w.WriteHeader(http.StatusNoContent)
}

// disconnect breaks connections: what=ws, rpc or daemon (the one between REST
// and signal-cli).
func (p Panel) disconnect(w http.ResponseWriter, r *http.Request) {
	what := r.URL.Query().Get("what")
	cut := map[string]int{}
	switch what {
	case "ws":
		cut["ws"] = p.REST.Disconnect()
	case "rpc":
		cut["rpc"] = p.RPC.Disconnect()
	case "daemon":
		p.Net.DropDaemon()
		cut["daemon"] = 1
	default:
		control.Fail(w, http.StatusBadRequest, fmt.Errorf("what=%q: want ws, rpc or daemon", what))
		return
	}
	control.Answer(w, http.StatusOK, cut)
}

func duration(r *http.Request, name string, limit time.Duration) (time.Duration, error) {
	text := r.URL.Query().Get(name)
	if text == "" || text == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if d < 0 || d > limit {
		return 0, fmt.Errorf("%s: want 0 to %v", name, limit)
	}
	return d, nil
}

func number(r *http.Request, name string) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
