package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/services/busd/internal/buses"
	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// What the bus answers to messages of every kind for every kind of recipient
// is what dbus-daemon answers.
func TestVerdictsAreThoseOfDBusDaemon(t *testing.T) {
	daemon := buses.ForTest(t, buses.Daemon, buses.Options{})
	ours := verdicts(t, start(t, allowAll).address)
	theirs := verdicts(t, daemon.Address)
	for i := range ours {
		if ours[i] != theirs[i] {
			t.Errorf("we say\n\t%s\nand dbus-daemon says\n\t%s", ours[i], theirs[i])
		}
	}
}

func verdicts(t *testing.T, address string) (list []string) {
	t.Helper()
	dial := func() *client.Conn {
		c := get(client.Dial(address, client.Options{Timeout: patience, FDs: true}))(t)
		t.Cleanup(func() { c.Close() })
		settle(t, c)
		return c
	}
	for _, kind := range []wire.Type{wire.MethodCall, wire.MethodReturn, wire.ErrorReply, wire.Signal, 7} {
		for _, flags := range []wire.Flags{0, wire.NoReplyExpected, wire.NoAutoStart, wire.NoReplyExpected | wire.NoAutoStart} {
			for _, to := range []string{"", wire.BusName, "itself", "other", "com.example.None", ":1.99999"} {
				from, other := dial(), dial()
				destination := map[string]string{"itself": from.Name, "other": other.Name}[to]
				if destination == "" {
					destination = to
				}
				h := wire.Header{Type: kind, Flags: flags, Serial: 5000, Path: "/a", Interface: "com.example.I", Member: "M", Destination: destination, ReplySerial: 77, ErrorName: "com.example.E"}
				get(from.Send(h, nil))(t)
				line := fmt.Sprintf("type %d, flags %d, to %q:", kind, flags, to)
				for i, c := range []*client.Conn{from, other} {
					all, err := c.Settle()
					for _, m := range all {
						line += fmt.Sprintf(" %d gets type %d %s reply to %d,", i, m.Type, m.ErrorName, m.ReplySerial)
					}
					if err != nil {
						line += fmt.Sprintf(" %d is disconnected", i)
					}
				}
				list = append(list, strings.ReplaceAll(line, destination, to))
				from.Close()
				other.Close()
			}
		}
	}
	return list
}
