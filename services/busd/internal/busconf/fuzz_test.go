package busconf_test

import (
	"errors"
	"testing"

	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// Whatever a file holds: it loads or has a position, and what loads compiles.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		body(""), body(`<limit name="auth_timeout">5</limit>`), body(`<include>bus.conf</include>`),
		body(`<include ignore_missing="yes">x</include><includedir>.</includedir>`),
		body(`<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>`),
		body(`<policy user="root"><deny send_interface="a.b" send_member="C" min_fds="1" log="true"/><allow own_prefix="a"/></policy>`),
		body(`<policy at_console="true"><allow receive_sender="a.b" receive_type="signal"/></policy>`),
		body(`<selinux><associate own="a.b" context="c"/></selinux><apparmor mode="required"/>`),
		body(`<standard_session_servicedirs/><standard_system_servicedirs/><servicedir>x</servicedir>`),
		`<?xml version="1.0" encoding="ISO-8859-1"?><busconfig><user>` + "\xe9</user></busconfig>",
		`<!DOCTYPE busconfig [<!ENTITY a "b">]><busconfig><user>&a;</user></busconfig>`,
		`<busconfig xmlns="x"/>`, `<a:busconfig/>`, `<busconfig`, `<busconfig/><busconfig/>`, ``, "\x00", `</busconfig>`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		c, err := busconf.Load("/etc/bus.conf", files{"/etc/bus.conf": data}.source())
		if err != nil {
			var at *busconf.Error
			if !errors.As(err, &at) {
				t.Fatalf("error without position: %v", err)
			}
			return
		}
		set, _ := policy.Compile(c.Policies, policy.Resolver{})
		client := set.For(policy.Identity{Known: true})
		m := policy.Message{Type: wire.MethodCall, Member: "M", Path: "/", Destination: "a.b"}
		if client.SendsAll() && !client.CanSend(&m, policy.Names{"a.b"}).Allow {
			t.Fatal("sends all and may not send")
		}
	})
}
