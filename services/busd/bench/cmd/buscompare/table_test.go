package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"quartet/services/busd/internal/buses"
	"quartet/services/busd/internal/load"
)

func TestTable(t *testing.T) {
	table := newTable([]buses.Kind{buses.Broker, buses.Daemon, buses.Busd})
	add := func(workload string, kind buses.Kind, wall, cpu time.Duration, figures load.Figures) {
		table.add(workload, kind, load.Result{Wall: wall, CPU: cpu, Figures: figures}, nil)
	}
	for _, off := range []time.Duration{-1, 1, 0} { // the median is what they lie around
		add("broadcast", buses.Broker, 400*time.Millisecond+off, 200*time.Millisecond+off, nil)
		add("broadcast", buses.Daemon, time.Second+off, 900*time.Millisecond+off, nil)
		add("broadcast", buses.Busd, 36*time.Millisecond+off, 30*time.Millisecond+off, nil)
	}
	add("rtt", buses.Broker, time.Second, time.Second, load.Figures{load.P50: 50})
	add("rtt", buses.Busd, time.Second, time.Second/2, load.Figures{load.P50: 25})
	add("idle", buses.Busd, time.Second, time.Second, load.Figures{load.IdleMemory: 7000, load.PerConnection: 6001})
	table.add("rtt", buses.Daemon, load.Result{}, errors.New("a reply was lost"))

	var out strings.Builder
	var workloads []load.Workload
	for _, name := range []string{"broadcast", "rtt", "idle"} {
		w, err := load.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		workloads = append(workloads, w)
	}
	if err := table.print(&out, workloads); err != nil {
		t.Fatal(err)
	}
	want := `
   workload    median  dbus-broker  dbus-daemon  ratio  busd  ratio  at most  target
  broadcast   wall-ms          400         1000   2.50  36.0   0.09     0.10    held
  broadcast    cpu-ms          200          900   4.50  30.0   0.15     0.10  missed
        rtt   wall-ms         1000            -      -  1000   1.00        -       -
        rtt    cpu-ms         1000            -      -   500   0.50     0.80    held
        rtt    p50-us         50.0            -      -  25.0   0.50     0.80    held
       idle   wall-ms            -            -      -  1000      -        -       -
       idle    cpu-ms            -            -      -  1000      -        -       -
       idle  idle-KiB            -            -      -  7000      -     7812    held
       idle    conn-B            -            -      -  6001      -     6000  missed
rtt on dbus-daemon: 1 of the runs failed, the first: a reply was lost
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
	if n := table.failures(); n != 1 {
		t.Errorf("%d failures", n)
	}
}

func TestEveryTargetIsOfAWorkloadAndAFigure(t *testing.T) {
	for workload, aims := range targets {
		if _, err := load.Named(workload); err != nil {
			t.Error(err)
		}
		for figure := range aims {
			found := false
			for _, name := range shown {
				found = found || name == figure
			}
			if !found {
				t.Errorf("%s: the table shows no %s", workload, figure)
			}
		}
	}
}

func TestWhatTheCommandLineCannotMeanIsRefused(t *testing.T) {
	for _, args := range [][]string{{"-w", "nonsense"}, {"-buses", "nonsense"}, {"-r", "0"}, {"more"}, {"-nonsense"}} {
		if _, err := read(args, io.Discard); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
