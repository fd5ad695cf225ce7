// Package bench_test measures busd beside dbus-daemon and dbus-broker.
//
// A benchmark is a workload of package load; each bus has a fresh process for
// every run of it, with the session.conf that is installed. An operation is
// the workload's: a signal, a call, a connection. cpu-ns/op is the bus's own
// processor time, wall-ns/op what the client waited; what -benchmem adds is the
// client's, for a whole run. Whose turn it is first is drawn anew each time.
//
// bench/cmd/buscompare runs the same and prints the ratios that are aimed at.
package bench_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"quartet/services/busd/internal/buses"
	"quartet/services/busd/internal/load"
)

func TestMain(m *testing.M) {
	load.Prepare()
	os.Exit(buses.Main(m))
}

func BenchmarkConnect(b *testing.B)          { measure(b, "connect") }
func BenchmarkStorm(b *testing.B)            { measure(b, "storm") }
func BenchmarkBroadcast(b *testing.B)        { measure(b, "broadcast") }
func BenchmarkBurst(b *testing.B)            { measure(b, "burst") }
func BenchmarkFanout(b *testing.B)           { measure(b, "fanout") }
func BenchmarkCalls(b *testing.B)            { measure(b, "calls") }
func BenchmarkRoundTrip(b *testing.B)        { measure(b, "rtt") }
func BenchmarkDriver(b *testing.B)           { measure(b, "driver") }
func BenchmarkSharedConnection(b *testing.B) { measure(b, "shared") }
func BenchmarkStarts(b *testing.B)           { measure(b, "starts") }
func BenchmarkConnections20(b *testing.B)    { measure(b, "conns20") }
func BenchmarkConnections100(b *testing.B)   { measure(b, "conns100") }
func BenchmarkConnections1000(b *testing.B)  { measure(b, "conns1000") }
func BenchmarkSelf20(b *testing.B)           { measure(b, "self20") }
func BenchmarkBigMessages(b *testing.B)      { measure(b, "bigmsg") }
func BenchmarkNames(b *testing.B)            { measure(b, "names") }
func BenchmarkForeignRules(b *testing.B)     { measure(b, "matches") }
func BenchmarkDescriptors(b *testing.B)      { measure(b, "fdpass") }
func BenchmarkUnwanted(b *testing.B)         { measure(b, "nosub") }
func BenchmarkIdleConnections(b *testing.B)  { measure(b, "idle") }

// variant is what benchtable calls a bus: ours is quartet.
func variant(kind buses.Kind) string {
	if kind == buses.Busd {
		return "quartet"
	}
	return string(kind)
}

// measure runs a workload on each bus.
func measure(b *testing.B, name string) {
	w, err := load.Named(name)
	if err != nil {
		b.Fatal(err)
	}
	for _, i := range rand.Perm(len(buses.Kinds)) {
		kind := buses.Kinds[i]
		b.Run(variant(kind), func(b *testing.B) {
			sums, operations := load.Figures{}, 0
			for b.Loop() {
				r := once(b, kind, w)
				operations += r.Count
				sums["ns/op"] += float64(r.Wall)
				sums["cpu-ns/op"] += float64(r.CPU)
				for figure, value := range r.Figures {
					sums[figure] += value
				}
			}
			for figure, sum := range sums {
				b.ReportMetric(sum/float64(b.N), figure)
			}
			b.ReportMetric(sums["ns/op"]/float64(operations), "ns/op")
			b.ReportMetric(sums["ns/op"]/float64(operations), "wall-ns/op")
			b.ReportMetric(sums["cpu-ns/op"]/float64(operations), "cpu-ns/op")
		})
	}
}

// once runs a workload on a fresh bus.
func once(b *testing.B, kind buses.Kind, w load.Workload) load.Result {
	bus, err := buses.Start(kind, buses.Options{})
	buses.Need(b, err)
	r, err := w.Run(bus, load.Size{})
	if stop := bus.Stop(); err == nil {
		err = stop
	}
	if err != nil {
		b.Fatal(err)
	}
	return r
}
