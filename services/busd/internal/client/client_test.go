package client_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"quartet/services/busd/internal/buses"
	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

func TestMain(m *testing.M) { os.Exit(buses.Main(m)) }

// each runs a test on every bus.
func each(t *testing.T, f func(t *testing.T, b *buses.Bus)) {
	for _, kind := range buses.Kinds {
		t.Run(string(kind), func(t *testing.T) { f(t, buses.ForTest(t, kind, buses.Options{})) })
	}
}

func dial(t *testing.T, b *buses.Bus, o client.Options) *client.Conn {
	t.Helper()
	c, err := client.Dial(b.Address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// get is the value of what must not fail.
func get[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDialGivesAName(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		c := dial(t, b, client.Options{FDs: true})
		if !strings.HasPrefix(c.Name, ":1.") || len(c.GUID) != 32 {
			t.Errorf("name %q, GUID %q", c.Name, c.GUID)
		}
		if owner := get[string](t)(c.Owner(c.Name)); owner != c.Name {
			t.Errorf("the owner of %s is %s", c.Name, owner)
		}
	})
}

func TestCallAndReplyPassTheBus(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		service, caller := dial(t, b, client.Options{}), dial(t, b, client.Options{})
		if got := get[uint32](t)(service.RequestName("org.quartet.Test", 0)); got != 1 {
			t.Fatalf("RequestName answered %d", got)
		}
		h := wire.Header{Type: wire.MethodCall, Path: "/a", Interface: "org.quartet.Test", Member: "Double", Destination: "org.quartet.Test", Signature: "s"}
		serial := get[uint32](t)(caller.Send(h, func(e *wire.Encoder) { e.String("ab") }))
		var call *client.Message
		for call == nil || call.Type != wire.MethodCall {
			call = get[*client.Message](t)(service.Next())
		}
		in := call.Values()
		must(t, service.Reply(call, "s", func(e *wire.Encoder) { e.String(strings.Repeat(in.String(), 2)) }))
		var reply *client.Message
		for reply == nil || reply.Type != wire.MethodReturn {
			reply = get[*client.Message](t)(caller.Next())
		}
		out := reply.Values()
		if got := out.String(); reply.ReplySerial != serial || reply.Sender != service.Name || got != "abab" {
			t.Errorf("reply to %d from %s: %q", reply.ReplySerial, reply.Sender, got)
		}
	})
}

func TestAnErrorReplyIsAnError(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		_, err := dial(t, b, client.Options{}).Owner("org.quartet.Nobody")
		refused, ok := errors.AsType[*client.Error](err)
		if !ok || refused.Name != "org.freedesktop.DBus.Error.NameHasNoOwner" || refused.Text == "" {
			t.Errorf("error %v", err)
		}
	})
}

func TestSettleReturnsWhatCameBefore(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		sender, receiver := dial(t, b, client.Options{}), dial(t, b, client.Options{})
		must(t, receiver.AddMatch("type='signal',interface='org.quartet.Test'"))
		for range 3 {
			must(t, sender.Signal("/a", "org.quartet.Test", "Tick", "", nil))
		}
		get[[]*client.Message](t)(sender.Settle())
		ticks := 0
		for _, m := range get[[]*client.Message](t)(receiver.Settle()) {
			if m.Member == "Tick" && m.Sender == sender.Name {
				ticks++
			}
		}
		if ticks != 3 {
			t.Errorf("%d of 3 signals came", ticks)
		}
	})
}

func TestDescriptorsBelongToTheirMessage(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		sender, receiver := dial(t, b, client.Options{FDs: true}), dial(t, b, client.Options{FDs: true})
		read, write, err := os.Pipe()
		must(t, err)
		defer read.Close()
		defer write.Close()
		h := wire.Header{Type: wire.Signal, Path: "/a", Interface: "org.quartet.Test", Member: "None", Destination: receiver.Name}
		get[uint32](t)(sender.Send(h, nil))
		h.Member, h.Signature = "Two", "hh"
		get[uint32](t)(sender.Send(h, func(e *wire.Encoder) { e.Uint32(0); e.Uint32(1) }, int(read.Fd()), int(write.Fd())))
		for _, want := range []struct {
			member string
			fds    int
		}{{"None", 0}, {"Two", 2}} {
			var m *client.Message
			for m == nil || m.Type != wire.Signal || m.Interface != "org.quartet.Test" {
				m = get[*client.Message](t)(receiver.Next())
			}
			if m.Member != want.member || len(m.FDs) != want.fds {
				t.Errorf("%s with %d descriptors, want %+v", m.Member, len(m.FDs), want)
			}
			m.CloseFDs()
		}
	})
}

func TestMalformedBytesEndTheConnection(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		c := dial(t, b, client.Options{})
		must(t, c.SendRaw([]byte(strings.Repeat("x", 64))))
		must(t, c.AwaitEnd())
	})
}

func TestTheHandshakeCanBeHadByHand(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		c := get[*client.Conn](t)(client.Connect(b.Address, 0))
		defer c.Close()
		for _, step := range []struct{ say, answer string }{
			{"\x00AUTH EXTERNAL\r\n", "DATA"},
			{"DATA\r\n", "OK"},
			{"NEGOTIATE_UNIX_FD\r\n", "AGREE_UNIX_FD"},
		} {
			must(t, c.SendRaw([]byte(step.say)))
			if got := get[string](t)(c.ReadLine()); !strings.HasPrefix(got, step.answer) {
				t.Fatalf("%q is answered with %q", step.say, got)
			}
		}
		must(t, c.SendRaw([]byte("BEGIN\r\n")))
		must(t, c.Hello())
	})
}

func TestNothingIsAwaitedForLongerThanTimeout(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		c := dial(t, b, client.Options{})
		get[[]*client.Message](t)(c.Settle())
		c.Timeout = time.Millisecond
		if m, err := c.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("message %v, error %v", m, err)
		}
		if err := c.AwaitEnd(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		c.Timeout = client.DefaultTimeout
		get[[]*client.Message](t)(c.Settle()) // it can be used on
	})
}

func TestAnAddressThatLeadsNowhereIsPassedOver(t *testing.T) {
	each(t, func(t *testing.T, b *buses.Bus) {
		c := get[*client.Conn](t)(client.Dial("unix:path=/nonexistent;"+b.Address, client.Options{}))
		must(t, c.Close())
		if _, err := client.Dial("unix:path=/nonexistent", client.Options{}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
}

func TestBothTransportsOfTheNetworkAreSpoken(t *testing.T) {
	for _, kind := range []buses.Kind{buses.Busd, buses.Daemon} {
		for _, transport := range []string{"tcp", "nonce-tcp"} {
			t.Run(string(kind)+"/"+transport, func(t *testing.T) {
				b := buses.ForTest(t, kind, buses.Options{Config: `<busconfig><type>session</type>
<listen>` + transport + `:host=127.0.0.1,family=ipv4</listen><auth>ANONYMOUS</auth><allow_anonymous/>
<policy context="default"><allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`})
				c := dial(t, b, client.Options{Anonymous: true})
				if !strings.HasPrefix(c.Name, ":1.") {
					t.Errorf("name %q", c.Name)
				}
			})
		}
	}
}
