package busconf_test

import (
	"fmt"
	"testing"

	"quartet/services/busd/internal/busconf"
)

func TestLimitsDefaultToThoseOfTheReference(t *testing.T) {
	want := map[string]int64{
		"max_incoming_bytes": 133169152, "max_incoming_unix_fds": 64, "max_outgoing_bytes": 133169152, "max_outgoing_unix_fds": 64,
		"max_message_size": 33554432, "max_message_unix_fds": 16, "service_start_timeout": 25000, "auth_timeout": 30000,
		"pending_fd_timeout": 150000, "max_completed_connections": 2048, "max_incomplete_connections": 64,
		"max_connections_per_user": 256, "max_pending_service_starts": 512, "max_names_per_connection": 512,
		"max_match_rules_per_connection": 512, "max_replies_per_connection": 128, "reply_timeout": -1,
		"max_containers": 512, "max_containers_per_user": 16, "max_connections_per_container": 8, "max_container_metadata_bytes": 4096,
	}
	c := config(t, "")
	for _, name := range busconf.LimitNames() {
		got, ok := c.Limits.Get(name)
		if w, known := want[name]; !ok || !known || got != w {
			t.Errorf("%s is %d (%t), want %d", name, got, ok, w)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not in LimitNames: %v", want)
	}
}

func TestEachLimitIsSetByItsNameAlone(t *testing.T) {
	for _, name := range busconf.LimitNames() {
		c := config(t, fmt.Sprintf("<limit name=%q>77</limit>", name))
		for _, other := range busconf.LimitNames() {
			defaults := busconf.DefaultLimits()
			want, _ := defaults.Get(other)
			if other == name {
				want = 77
			}
			if got, _ := c.Limits.Get(other); got != want {
				t.Errorf("after setting %s, %s is %d, want %d", name, other, got, want)
			}
		}
	}
}

func TestLimitIsAWholeNumberInItsRange(t *testing.T) {
	for value, ok := range map[string]bool{
		"0": true, "1": true, " 17\n": true, "0x10": true, "2147483647": true,
		"-1": false, "2147483648": false, "3123123123": false, "9223372036854775808": false,
		"bees": false, "": false, "5 bees": false, "1.5": false, "1_000": false, "1e3": false,
	} {
		f := files{"/etc/bus.conf": body(`<limit name="max_names_per_connection">` + value + `</limit>`)}
		if ok {
			load(t, f)
		} else {
			refused(t, f, "/etc/bus.conf:3:")
		}
	}
}

// Byte and descriptor counts are C longs in the reference, the rest ints.
func TestByteLimitsMayExceed32Bits(t *testing.T) {
	c := config(t, `<limit name="max_incoming_bytes">5000000000</limit>`)
	if c.Limits.MaxIncomingBytes != 5e9 {
		t.Errorf("max_incoming_bytes is %d", c.Limits.MaxIncomingBytes)
	}
	refused(t, files{"/etc/bus.conf": body(`<limit name="auth_timeout">5000000000</limit>`)}, "auth_timeout", "2147483647")
}

func TestUnknownLimitHasNoValue(t *testing.T) {
	l := busconf.DefaultLimits()
	if v, ok := l.Get("max_bees"); ok {
		t.Errorf("max_bees is %d", v)
	}
}
