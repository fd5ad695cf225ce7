package buses_test

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"quartet/services/busd/internal/buses"
)

func TestMain(m *testing.M) { os.Exit(buses.Main(m)) }

// each runs a test with every program.
func each(t *testing.T, f func(t *testing.T, b *buses.Bus)) {
	for _, kind := range buses.Kinds {
		t.Run(string(kind), func(t *testing.T) { f(t, buses.ForTest(t, kind, buses.Options{})) })
	}
}

// socket is the path in an address.
func socket(t *testing.T, b *buses.Bus) string {
	t.Helper()
	path, ok := strings.CutPrefix(b.Address, "unix:path=")
	if !ok {
		t.Fatalf("address %q", b.Address)
	}
	path, _, _ = strings.Cut(path, ",")
	return path
}

func TestAStartedBusTakesConnections(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		c, err := net.DialTimeout("unix", socket(t, b), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("\x00AUTH\r\n")); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 64)
		n, err := c.Read(answer)
		if got := string(answer[:n]); err != nil || !strings.HasPrefix(got, "REJECTED EXTERNAL") {
			t.Fatalf("answer %q, %v", got, err)
		}
	})
}

func TestABusIsGoneAfterStop(t *testing.T) {
	for _, kind := range buses.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			b, err := buses.Start(kind, buses.Options{})
			buses.Need(t, err)
			if err := b.Stop(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(b.Dir); !os.IsNotExist(err) {
				t.Errorf("its folder: %v", err)
			}
			if _, err := b.CPU(); err == nil {
				t.Error("its process is there")
			}
		})
	}
}

func TestWhatABusUsesIsSeen(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		before, err := b.CPU()
		if err != nil || before <= 0 {
			t.Fatalf("processor time %v, %v", before, err)
		}
		m, err := b.Memory()
		if err != nil || m.Now <= 0 || m.Peak < m.Now {
			t.Fatalf("memory %+v, %v", m, err)
		}
		if err := b.ForgetPeak(); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Files(); err != nil || n < 3 {
			t.Fatalf("%d files, %v", n, err)
		}
		if _, err := b.Helpers(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAConfigurationDecidesWhereToListen(t *testing.T) {
	dir := t.TempDir()
	config := `<busconfig><type>session</type><listen>unix:path=` + dir + `/here</listen>
<policy context="default"><allow send_destination="*"/><allow own="*"/></policy></busconfig>`
	for _, kind := range []buses.Kind{buses.Busd, buses.Daemon} {
		t.Run(string(kind), func(t *testing.T) {
			b := buses.ForTest(t, kind, buses.Options{Config: config})
			if got := socket(t, b); got != dir+"/here" {
				t.Errorf("it listens on %s", got)
			}
		})
	}
}

func TestAFailedStartSaysWhatTheBusSaid(t *testing.T) {
	for _, kind := range []buses.Kind{buses.Busd, buses.Daemon} {
		t.Run(string(kind), func(t *testing.T) {
			b, err := buses.Start(kind, buses.Options{Config: "<busconfig><nonsense/></busconfig>"})
			if err == nil {
				defer b.Stop() // that it started is the failure
			}
			if err == nil || !strings.Contains(err.Error(), "nonsense") {
				t.Errorf("error %v", err)
			}
		})
	}
}
