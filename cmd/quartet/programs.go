package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"quartet/cmd/quartet/internal/fleet"
)

// program is one line of the table below: how to run it, what to tell a person
// about it, and where its figures come from.
type program struct {
	fleet.Program
	links   []link
	metrics string   // a service's /metrics,
	unit    string   // with what its requests are called, or
	stats   string   // a simulator's /_sim/stats,
	figures []figure // and what to show of it
}

type link struct{ what, url string }

// figure is one number of a simulator's statistics.
type figure struct{ key, what string }

// ports are the TCP ports of the system on 127.0.0.1.
type ports struct{ signal, web, botd, busd, bus int }

// portsFrom gives the usual ports, or a row that starts at base.
func portsFrom(base int) ports {
	if base == 0 {
		return ports{signal: 8080, web: 8081, botd: 9101, busd: 9102, bus: 8082}
	}
	return ports{signal: base, web: base + 1, botd: base + 2, busd: base + 3, bus: base + 4}
}

// selftestGroup is the id of the simulated group "testbot", so that
// `botd latency` can be tried beside a running system without writing into the
// group of the chat page.
const selftestGroup = "dqDvfVvWi9cFXZV7J8pybbI+ICUSd6cZQ+Z3zjxPeAg="

// programs is the system, in the order in which it starts: the outside world
// first, then the services that call it.
func programs(o options, environ []string) []program {
	p := portsFrom(o.ports)
	signal, web, botd := loopback(p.signal), loopback(p.web), loopback(p.botd)
	busd, bus := loopback(p.busd), loopback(p.bus)
	socket := busAddress(filepath.Join(o.data, "bus"))
	all := []program{
		{
			Program: fleet.Program{
				Name:   "simweb",
				Args:   []string{"-listen", web, "-seed-latencies"},
				Ports:  []fleet.Port{{Addr: web, Use: "the simulated picture site"}},
				Health: "http://" + web + "/_sim/stats", Status: http.StatusOK,
			},
			links:   []link{{"simulated picture site", "http://" + web + "/v1/images/search"}},
			stats:   "http://" + web + "/_sim/stats",
			figures: []figure{{"searches", "searches"}, {"pictures", "pictures"}},
		},
		{
			Program: fleet.Program{
				Name:   "simsignal",
				Args:   []string{"-listen", signal, "-seed-latencies", "-chatter", o.chatter.String()},
				Ports:  []fleet.Port{{Addr: signal, Use: "the simulated Signal API and its chat page"}},
				Health: "http://" + signal + "/v1/health", Status: http.StatusNoContent,
			},
			links:   []link{{"group chat: type !kot", "http://" + signal + "/"}},
			stats:   "http://" + signal + "/_sim/stats",
			figures: []figure{{"frames_delivered", "frames delivered"}, {"frames_dropped", "dropped"}, {"sends", "sends taken"}},
		},
		{
			Program: fleet.Program{
				Name: "botd",
				Env: []string{
					"BOTD_SIGNAL_URL=http://" + signal,
					"BOTD_NUMBER=+15550100000",
					"BOTD_CAT_URL=http://" + web,
					"BOTD_COMMONS_URL=http://" + web,
					"BOTD_UPSTREAM_ALLOW=" + web,
					"BOTD_ADMIN_ADDR=" + botd,
					"BOTD_SELFTEST_GROUP=" + selftestGroup,
					"BOTD_GROUPS=*",
					"BOTD_DRAIN_TIMEOUT=" + drainWithin.String(),
					"BOTD_STATE_DIR=" + filepath.Join(o.data, "botd"),
				},
				Ports:  []fleet.Port{{Addr: botd, Use: "its metrics and health"}},
				Health: "http://" + botd + "/readyz", Status: http.StatusOK,
			},
			links: []link{
				{"botd's metrics", "http://" + botd + "/metrics"},
				{"botd's readiness", "http://" + botd + "/readyz"},
			},
			metrics: "http://" + botd + "/metrics",
			unit:    "replies",
		},
		{
			Program: fleet.Program{
				Name:   "busd",
				Args:   []string{"--standalone", "--address=" + socket},
				Env:    []string{"BUSD_ADMIN_ADDR=" + busd},
				Ports:  []fleet.Port{{Addr: busd, Use: "its metrics and health"}},
				Health: "http://" + busd + "/readyz", Status: http.StatusOK,
			},
			links: []link{
				{"busd's bus", socket},
				{"busd's metrics", "http://" + busd + "/metrics"},
			},
			metrics: "http://" + busd + "/metrics",
			unit:    "batches",
		},
		{
			Program: fleet.Program{
				Name:   "simbus",
				Args:   []string{"-listen", bus, "-bus", socket},
				Ports:  []fleet.Port{{Addr: bus, Use: "what steers the programs on the bus"}},
				Health: "http://" + bus + "/_sim/health", Status: http.StatusNoContent,
			},
			links:   []link{{"programs on the bus", "http://" + bus + "/_sim/stats"}},
			stats:   "http://" + bus + "/_sim/stats",
			figures: []figure{{"published", "signals"}, {"received", "received"}, {"calls", "calls answered"}, {"calls_failed", "not"}},
		},
	}
	for i := range all {
		all[i].Path = filepath.Join(o.bin, all[i].Name)
		// What is set here stands above the caller's environment; the rest of
		// it passes, so that BOTD_LIMIT or OTEL_EXPORTER_OTLP_ENDPOINT work.
		all[i].Env = append(environ[:len(environ):len(environ)], all[i].Env...)
	}
	return all
}

// busAddress is a socket's path as an address of D-Bus, in which most marks are
// written as their codes.
func busAddress(path string) string {
	var b strings.Builder
	b.WriteString("unix:path=")
	for _, c := range []byte(path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(`-_/.\*`, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
