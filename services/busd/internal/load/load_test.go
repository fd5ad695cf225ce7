package load_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"quartet/services/busd/internal/buses"
	"quartet/services/busd/internal/load"
)

func TestMain(m *testing.M) { os.Exit(buses.Main(m)) }

// few makes a workload small enough for a test.
func few(w load.Workload) load.Size {
	return load.Size{Count: max(1, min(w.Size.Count/50, 200)), Peers: min(w.Size.Peers, 50)}
}

func TestNoBusLosesAnythingOfAnyWorkload(t *testing.T) {
	for _, w := range load.Workloads {
		for _, kind := range buses.Kinds {
			t.Run(w.Name+"/"+string(kind), func(t *testing.T) {
				b := buses.ForTest(t, kind, buses.Options{})
				r, err := w.Run(b, few(w))
				if err != nil {
					t.Fatal(err)
				}
				if r.Wall <= 0 || r.CPU <= 0 || r.Count != few(w).Count || r.Figures[load.PeakMemory] <= 0 {
					t.Errorf("result %+v", r)
				}
			})
		}
	}
}

func TestABusThatEndsAmidALoadEndsTheLoad(t *testing.T) {
	for _, name := range []string{"connect", "broadcast", "fanout", "calls", "shared", "conns20", "self20", "names", "fdpass", "nosub"} {
		t.Run(name, func(t *testing.T) {
			w, err := load.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			bus, err := buses.Start(buses.Daemon, buses.Options{})
			buses.Need(t, err)
			defer bus.Stop() // says that it had ended
			ended := make(chan error, 1)
			go func() {
				_, err := w.Run(bus, load.Size{Count: 200_000})
				ended <- err
			}()
			killWhenBusy(t, bus)
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("error %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("the load waits for a bus that is gone")
			}
		})
	}
}

// killWhenBusy ends a bus that has begun to work.
func killWhenBusy(t *testing.T, bus *buses.Bus) {
	t.Helper()
	for range time.Tick(time.Millisecond) {
		if cpu, err := bus.CPU(); err != nil || cpu > 100*time.Millisecond {
			break
		}
	}
	if err := bus.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestAnUnknownWorkloadIsNamed(t *testing.T) {
	if _, err := load.Named("nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error %v", err)
	}
}
