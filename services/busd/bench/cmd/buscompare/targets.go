package main

import "quartet/services/busd/internal/load"

// Figures of every workload, beside those of package load.
const (
	wall = "wall-ms"
	cpu  = "cpu-ms"
)

// target is the most that a figure of busd should be.
type target struct {
	most float64
	own  bool // in the figure's unit, else as a ratio to dbus-broker's
}

func ratio(most float64) target { return target{most: most} }

// targets are what busd aims at, by workload and figure. A client that waits
// for each message feels the latency, others the wall time.
var targets = map[string]map[string]target{
	"connect":   {wall: ratio(0.90)},
	"broadcast": {wall: ratio(0.10), cpu: ratio(0.10)},
	"burst":     {wall: ratio(0.40), cpu: ratio(0.30)},
	"fanout":    {load.P50: ratio(0.95), cpu: ratio(0.85)},
	"calls":     {wall: ratio(0.35), cpu: ratio(0.30)},
	"rtt":       {load.P50: ratio(0.80), cpu: ratio(0.80)},
	"shared":    {wall: ratio(0.40), cpu: ratio(0.25)},
	"conns20":   {wall: ratio(0.60), cpu: ratio(0.55)},
	"conns100":  {wall: ratio(0.60), cpu: ratio(0.55)},
	"conns1000": {wall: ratio(0.60), cpu: ratio(0.55)},
	"bigmsg":    {wall: ratio(1.15), cpu: ratio(1.25)},
	"names":     {wall: ratio(0.80)},
	"matches":   {wall: ratio(1.00)},
	"fdpass":    {wall: ratio(1.00)},
	// 8 MB alone, 6 KB for each connection.
	"idle": {load.IdleMemory: {most: 8e6 / 1024, own: true}, load.PerConnection: {most: 6e3, own: true}},
}
