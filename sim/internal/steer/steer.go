// Package steer is simsignal's own control surface under /_sim/: it emits
// frames, reads what was sent and asked, sets groups and keys, resets and
// disconnects. Quirks and latencies are package control's.
//
// Guarantee: a body of frames is queued whole or refused whole.
//
// Files: frames.go (what is emitted), state.go (what signal-cli keeps), steer.go.
package steer

import (
	"fmt"
	"net/http"

	"quartet/sim/internal/control"
	"quartet/sim/internal/groupchat"
	"quartet/sim/internal/jsonrpc"
	"quartet/sim/internal/restapi"
	"quartet/sim/internal/signalnet"
)

const maxFrames = 64 << 20 // bytes of one body of frames

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
	mux.HandleFunc("GET /_sim/frames", control.Follow("frames", p.Net.Emissions, p.Net.WaitEmitted, nil))
	mux.HandleFunc("GET /_sim/sends", control.Follow("sends", p.Net.Sent, p.Net.WaitSent, nil))
	mux.HandleFunc("GET /_sim/attempts", control.Follow("attempts", p.Net.Attempts, p.Net.WaitAttempt, nil))
	mux.HandleFunc("GET /_sim/calls", control.Follow("calls", p.Net.Calls, p.Net.WaitCall, func(r *http.Request, c signalnet.Call) bool {
		kind := r.URL.Query().Get("kind")
		return kind == "" || kind == c.Kind
	}))
	mux.HandleFunc("GET /_sim/overlaps", func(w http.ResponseWriter, _ *http.Request) { control.Answer(w, http.StatusOK, p.Net.Overlaps()) })
	mux.HandleFunc("GET /_sim/latencies", func(w http.ResponseWriter, _ *http.Request) { control.Answer(w, http.StatusOK, p.Net.Watch.Report()) })
	mux.HandleFunc("DELETE /_sim/latencies", func(w http.ResponseWriter, _ *http.Request) {
		p.Net.Watch.Clear()
		w.WriteHeader(http.StatusNoContent)
	})
	p.mountState(mux)
	mux.HandleFunc("GET /_sim/stats", p.stats)
	mux.HandleFunc("POST /_sim/reset", p.reset)
	mux.HandleFunc("POST /_sim/disconnect", p.disconnect)
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
