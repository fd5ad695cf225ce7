package suites

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quartet/services/busd/internal/buses"
)

// stock is the configuration of the system bus as Debian installs it.
const stock = "/usr/share/dbus-1/system.conf"

// stockBus is the stock configuration with a socket of the test's own, for the
// real one may be in use. What it includes is named from its own folder, so
// that must be said as well, where the copy lies elsewhere.
func stockBus(t *testing.T) buses.Options {
	text, err := os.ReadFile(stock)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(openDir(t), "socket")
	config := string(text)
	for _, change := range [][2]string{
		{"<listen>unix:path=/run/dbus/system_bus_socket</listen>", "<listen>unix:path=" + socket + "</listen>"},
		{"<includedir>system.d</includedir>", "<includedir>" + filepath.Dir(stock) + "/system.d</includedir>"},
	} {
		if strings.Count(config, change[0]) != 1 {
			t.Fatalf("%s has no %s", stock, change[0])
		}
		config = strings.Replace(config, change[0], change[1], 1)
	}
	return buses.Options{Config: config, Args: []string{"--nosyslog"}}
}

// A system bus with the stock configuration, and two services of Debian's,
// called by root and by a user who may do nothing.
func TestASystemBusWorks(t *testing.T) {
	root(t)
	need(t, "gdbus", "libglib2.0-bin")
	need(t, "busctl", "systemd")
	need(t, "dbus-send", "dbus-bin")
	need(t, "setpriv", "util-linux")
	need(t, "pkcheck", "polkitd")
	if !exists(stock) {
		without(t, stock, "dbus")
	}
	avahi := need(t, "/usr/sbin/avahi-daemon", "avahi-daemon")
	polkit := need(t, "/usr/lib/polkit-1/polkitd", "polkitd")
	if exec.Command(avahi, "--check").Run() == nil {
		if os.Getenv("CI") != "" {
			t.Fatal("an avahi-daemon runs here, and there can only be one")
		}
		t.Skip("an avahi-daemon runs here, and there can only be one")
	}
	config := filepath.Join(openDir(t), "avahi.conf")
	if err := os.WriteFile(config, []byte(avahiConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	const nobody = "setpriv --reuid=" + plain + " --regid=" + plain + " --clear-groups "
	const send = "dbus-send --bus=$A --print-reply --dest="
	const server = "org.freedesktop.Avahi / org.freedesktop.Avahi.Server"
	const authority = "org.freedesktop.PolicyKit1 /org/freedesktop/PolicyKit1/Authority org.freedesktop.PolicyKit1.Authority"
	stage{
		options: stockBus,
		kinds:   []buses.Kind{buses.Busd, buses.Daemon},
		serial:  true,
		services: []service{
			{"org.freedesktop.Avahi", avahi + " --no-chroot --no-rlimits --no-drop-root --file=" + config},
			{"org.freedesktop.PolicyKit1", polkit + " --no-debug"},
		},
	}.play(t, []step{
		{run: "busctl --address=$A call " + server + " GetVersionString"},
		{run: nobody + "busctl --address=$A call " + server + " GetAPIVersion"},
		{run: nobody + "busctl --address=$A call " + server + " GetState"},
		{run: nobody + "busctl --address=$A call " + server + " EntryGroupNew"},
		{run: nobody + "busctl --address=$A call -- " + server + " ResolveAddress iisu -1 0 not.an.address 0"},
		{run: nobody + "busctl --address=$A call " + server + " SetHostName s other"},
		{run: nobody + send + "org.freedesktop.Avahi / org.freedesktop.Avahi.Server.SetHostName string:other"},
		{run: nobody + "gdbus introspect --system --dest org.freedesktop.Avahi --object-path /"},

		{run: "busctl --address=$A get-property " + authority + " BackendName"},
		{run: nobody + "busctl --address=$A get-property " + authority + " BackendVersion"},
		{run: nobody + "busctl --address=$A call " + authority + " EnumerateActions s '' | grep -o org.freedesktop.policykit.exec | head -n 1"},
		{run: "pkcheck --action-id org.freedesktop.policykit.exec --process $$"},
		{run: nobody + "sh -c 'pkcheck --action-id org.freedesktop.policykit.exec --process $$'"},
		{run: nobody + "sh -c 'pkcheck --action-id com.example.no.such.action --process $$'"},

		{run: nobody + "busctl --address=$A call " + bus + " RequestName su org.freedesktop.Avahi 0"},
		{run: nobody + "busctl --address=$A call " + bus + " RequestName su com.example.Anything 0"},
		{run: "busctl --address=$A call " + bus + " RequestName su com.example.Anything 0"},
		{run: "busctl --address=$A call " + bus + " UpdateActivationEnvironment a{ss} 1 A B"},
		{run: nobody + "busctl --address=$A call " + bus + " UpdateActivationEnvironment a{ss} 1 A B"},
		{run: nobody + "busctl --address=$A call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.Debug.Stats GetStats"},
		{run: "busctl --address=$A call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.Debug.Stats GetStats", keep: "exit"},
		{run: nobody + "busctl --address=$A call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.Monitoring BecomeMonitor asu 0 0"},
		{run: nobody + "busctl --address=$A call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.Peer Ping"},
		{run: nobody + send + "org.freedesktop.DBus / org.freedesktop.DBus.RequestName string:org.freedesktop.Avahi uint32:0"},
		{run: nobody + send + "org.freedesktop.DBus / org.freedesktop.DBus.Debug.Stats.GetStats"},
		{run: nobody + send + "org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.Monitoring.BecomeMonitor array:string: uint32:0"},
		{run: nobody + send + "com.example.Nobody / com.example.Any.Any"},
		{run: nobody + "busctl --address=$A emit /a com.example.Any Signal"},
		{run: nobody + "gdbus call --system --dest org.freedesktop.Avahi --object-path / --method com.example.Any.Any"},
		{run: "(" + nobody + "timeout 2 gdbus monitor --system --dest org.freedesktop.Avahi) & sleep 0.5; avahi=$(busctl --address=$A call " + bus + " GetNameOwner s org.freedesktop.Avahi); wait; echo ${avahi%:*}"},
		{run: "busctl --address=$A --no-legend --activatable list | awk '{print $1}'", sorted: true},
	})
}

// avahiConfig keeps avahi-daemon to this machine.
const avahiConfig = `[server]
host-name=suites
use-ipv6=no
allow-interfaces=lo
[wide-area]
enable-wide-area=no
[publish]
disable-publishing=yes
`
