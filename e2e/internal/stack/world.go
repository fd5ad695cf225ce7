package stack

import (
	"net/http"
	"slices"
	"testing"
)

// Number is the bot's number in all tests, and GroupID the internal id of the
// group that simsignal knows.
const (
	Number  = "+15550100000"
	GroupID = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

// Way is how botd reaches Signal.
type Way string

// The ways.
const (
	Websocket Way = ""        // of signal-cli-rest-api
	Webhook   Way = "webhook" // signal-cli-rest-api posts frames; answers go over REST
	RPC       Way = "rpc"     // signal-cli's daemon, in manual mode
)

// Ways lists them all.
func Ways() []Way { return []Way{Websocket, Webhook, RPC} }

func (w Way) String() string {
	if w == Websocket {
		return "websocket"
	}
	return string(w)
}

// Options change how the programs are started.
type Options struct {
	Way     Way
	Program string   // botd, or FaultBuild
	Env     []string // more variables for botd
	Signal  []string // more flags for simsignal
	Web     []string // more flags for simweb
}

// World is what botd lives in: the two simulators, and the addresses at which
// it is to be found. It stays when a botd ends.
type World struct {
	Admin  string // base URL of botd's admin server
	Signal Sim
	Web    Sim

	program string
	env     []string
}

// Botd is a running botd in its world.
type Botd struct {
	*Process
	*World
	Signal Sim // the world's; a process has signals too
}

// StartBotd starts simsignal, simweb and botd, and waits until botd is ready.
func StartBotd(t testing.TB, o Options) *Botd {
	t.Helper()
	w := StartWorld(t, o)
	return &Botd{w.Start(t), w, w.Signal}
}

// StartWorld starts simsignal and simweb.
func StartWorld(t testing.TB, o Options) *World {
	t.Helper()
	signal, web, admin := FreeAddr(t), FreeAddr(t), FreeAddr(t)
	w := &World{Admin: "http://" + admin, Signal: Sim{"http://" + signal}, Web: Sim{"http://" + web}, program: "botd"}
	if o.Program != "" {
		w.program = o.Program
	}
	way, flags := w.way(t, o.Way)
	w.env = slices.Concat([]string{
		"BOTD_NUMBER=" + Number,
		"BOTD_CAT_URL=" + w.Web.URL,
		"BOTD_COMMONS_URL=" + w.Web.URL,
		"BOTD_UPSTREAM_ALLOW=" + web,
		"BOTD_ADMIN_ADDR=" + admin,
		"BOTD_SELFTEST_GROUP=" + GroupID,
		"BOTD_GROUPS=*",
		"BOTD_USER_AGENT=botd (https://example.org; bot@example.org)",
	}, way, o.Env)
	Start(t, "simweb", nil, append([]string{"-listen", web}, o.Web...)...).WaitHTTP(t, w.Web.URL+"/_sim/stats", http.StatusOK)
	Start(t, "simsignal", nil, slices.Concat([]string{"-listen", signal}, flags, o.Signal)...).WaitHTTP(t, w.Signal.URL+"/v1/health", http.StatusNoContent)
	return w
}

// way returns botd's variables and simsignal's flags for a way to Signal.
func (w *World) way(t testing.TB, way Way) (env, flags []string) {
	t.Helper()
	switch way {
	case RPC:
		rpc := FreeAddr(t)
		return []string{"BOTD_SIGNAL_URL=tcp://" + rpc}, []string{"-rpc", rpc, "-receive-mode", "manual"}
	case Webhook:
		hook := FreeAddr(t)
		return []string{"BOTD_SIGNAL_URL=" + w.Signal.URL, "BOTD_WEBHOOK_ADDR=" + hook}, []string{"-webhook", "http://" + hook + "/webhook"}
	default:
		return []string{"BOTD_SIGNAL_URL=" + w.Signal.URL}, nil
	}
}

// Start starts a botd in this world, and waits until it is ready.
func (w *World) Start(t testing.TB, env ...string) *Process {
	t.Helper()
	p := w.Launch(t, env...)
	p.WaitHTTP(t, w.Admin+"/readyz", http.StatusOK)
	return p
}

// Launch starts a botd that may end before it is ready.
func (w *World) Launch(t testing.TB, env ...string) *Process {
	t.Helper()
	return Start(t, w.program, slices.Concat(w.env, env))
}
