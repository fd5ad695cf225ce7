package suites

import "testing"

// echo is a service that answers everything, and its name.
var echo = stage{services: []service{echoing}}

var echoing = service{"com.example.Echo", "dbus-test-tool echo --session --name=com.example.Echo"}

const (
	bus  = "org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus"
	bus2 = "--dest org.freedesktop.DBus --object-path /org/freedesktop/DBus"
)

// Why dbus-broker answers otherwise.
const (
	itsWords     = "its error texts are its own"
	itsInterface = "its driver has other methods and properties"
)

func TestBusctl(t *testing.T) {
	need(t, "busctl", "systemd")
	need(t, "gdbus", "libglib2.0-bin")
	need(t, "dbus-test-tool", "dbus-bin")
	echo.play(t, []step{
		{run: "busctl --address=$A --no-legend --acquired list | awk '{print $1, $NF}'"},
		{run: "busctl --address=$A --no-legend --unique list | awk '{print $3}'"},
		{run: "busctl --address=$A call " + bus + " ListNames | tr ' ' '\\n'", sorted: true},
		{run: "busctl --address=$A call " + bus + " NameHasOwner s com.example.Echo"},
		{run: "busctl --address=$A call " + bus + " NameHasOwner s com.example.Nobody"},
		{run: "busctl --address=$A call " + bus + " GetNameOwner s com.example.Nobody", broker: itsWords},
		{run: "busctl --address=$A call " + bus + " GetConnectionUnixUser s com.example.Echo"},
		{run: "busctl --address=$A --json=short call " + bus + ` GetConnectionCredentials s com.example.Echo | grep -oE '"(ProcessID|Unix[A-Za-z]*)":[^}]*'`, sorted: true},
		{run: "busctl --address=$A call " + bus + " NoSuchMethod", broker: itsWords},
		{run: "busctl --address=$A call " + bus + " RequestName su 1nvalid 0", broker: itsWords},
		{run: "busctl --address=$A call com.example.Echo / com.example.Any Any"},
		{run: "busctl --address=$A call com.example.Echo / com.example.Any Any sa{sv}i a 1 k u 5 -1"},
		{run: "busctl --address=$A call com.example.Nobody / com.example.Any Any", broker: itsWords},
		{run: "busctl --address=$A --expect-reply=no call com.example.Echo / com.example.Any Any"},
		{run: "busctl --address=$A --auto-start=no call com.example.Nobody / com.example.Any Any", broker: itsWords},
		{run: "busctl --address=$A get-property " + bus + " Features", broker: itsInterface},
		{run: "busctl --address=$A get-property " + bus + " Nothing", broker: itsWords, words: true},
		{run: "busctl --address=$A set-property " + bus + " Features as 0", broker: itsWords, words: true},
		{run: "busctl --address=$A tree org.freedesktop.DBus"},
		{run: "busctl --address=$A introspect org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus", broker: itsInterface},
		{run: "busctl --address=$A introspect org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.Monitoring"},
		{run: "busctl --address=$A status com.example.Echo", keep: "^(PID|PPID|UID|GID|Comm|CommandLine|UniqueName)=[^0-9]"},
		{run: "busctl --address=$A emit /a com.example.Any Signal s text"},
		{run: "timeout 3 busctl --address=$A monitor com.example.Echo & sleep 1; busctl --address=$A call com.example.Echo /a com.example.Any Any s text; wait",
			broker: "it shows what the rules do not match", keep: "Type=|Path=|Interface=|STRING|Sender=|^s|MESSAGE"},
	})
}

func TestGdbus(t *testing.T) {
	need(t, "gdbus", "libglib2.0-bin")
	need(t, "dbus-test-tool", "dbus-bin")
	echo.play(t, []step{
		{run: "gdbus call --address $A " + bus2 + " --method org.freedesktop.DBus.GetId"},
		{run: "gdbus call --address $A " + bus2 + " --method org.freedesktop.DBus.ListQueuedOwners com.example.Echo"},
		{run: "gdbus call --session " + bus2 + " --method org.freedesktop.DBus.GetNameOwner org.freedesktop.DBus"},
		{run: "gdbus call --system " + bus2 + " --method org.freedesktop.DBus.Peer.Ping"},
		{run: "gdbus call --address $A " + bus2 + " --method org.freedesktop.DBus.StartServiceByName com.example.Nobody 0", broker: itsWords},
		{run: "gdbus call --address $A --dest com.example.Echo --object-path / --method com.example.Any.Any"},
		{run: "gdbus introspect --address $A " + bus2 + " --only-properties", broker: itsInterface},
		{run: "gdbus wait --address $A --timeout 1 com.example.Nobody"},
		{run: "(sleep 1; dbus-test-tool echo --session --name=com.example.Late & sleep 2; kill $!) & gdbus wait --address $A --timeout 10 com.example.Late; wait"},
		{run: "timeout 3 gdbus monitor --address $A --dest com.example.Sender & sleep 1; timeout 1 dbus-test-tool echo --session --name=com.example.Sender; wait"},
		{run: "timeout 2 gdbus monitor --address $A --dest com.example.Echo"},
	})
}

func TestQdbus(t *testing.T) {
	qdbus := need(t, "/usr/lib/qt5/bin/qdbus", "qdbus-qt5")
	need(t, "dbus-test-tool", "dbus-bin")
	echo.play(t, []step{
		{run: qdbus + " | sed 's/^ *//'", sorted: true},
		{run: qdbus + " org.freedesktop.DBus", sorted: true},
		{run: qdbus + " org.freedesktop.DBus /org/freedesktop/DBus", broker: itsInterface, sorted: true},
		{run: qdbus + " org.freedesktop.DBus / org.freedesktop.DBus.GetId"},
		{run: qdbus + " org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner com.example.Echo", broker: itsInterface},
		{run: qdbus + " com.example.Nobody", broker: itsWords},
		{run: qdbus + " --system org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner com.example.Nobody", broker: itsWords},
		{run: qdbus + " --literal org.freedesktop.DBus / org.freedesktop.DBus.ListActivatableNames", keep: "nothing", sorted: true},
	})
}

func TestDBusSend(t *testing.T) {
	need(t, "dbus-send", "dbus-bin")
	need(t, "dbus-test-tool", "dbus-bin")
	const call = "dbus-send --bus=$A --print-reply --dest="
	echo.play(t, []step{
		{run: call + "org.freedesktop.DBus / org.freedesktop.DBus.GetId"},
		{run: call + "org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner string:com.example.Echo"},
		{run: call + "org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner", broker: itsWords, words: true},
		{run: call + "org.freedesktop.DBus / org.freedesktop.DBus.AddMatch string:nonsense", broker: itsWords, words: true},
		{run: call + "org.freedesktop.DBus / org.freedesktop.DBus.RemoveMatch string:type=signal", broker: itsWords},
		{run: call + "no.such.Name / com.example.Any.Any", broker: itsWords},
		{run: call + ":1.99999 / com.example.Any.Any", broker: itsWords},
		{run: call + "com.example.Echo / com.example.Any.Any int32:47 dict:string:string:a,b array:byte:1,2"},
		{run: "dbus-send --session --type=signal --dest=com.example.Echo / com.example.Any.Any string:x"},
		{run: "dbus-send --system --print-reply=literal --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner string:com.example.Echo"},
	})
}

func TestDBusMonitor(t *testing.T) {
	need(t, "dbus-monitor", "dbus-bin")
	need(t, "dbus-test-tool", "dbus-bin")
	// What happens while it watches, the second that it takes to become a
	// monitor included.
	watch := func(options, what string) string {
		return "timeout 3 dbus-monitor --address $A " + options + " & sleep 1; " + what + " >/dev/null 2>&1; wait"
	}
	echo.play(t, []step{
		{run: watch(`"interface='com.example.Any'"`, "dbus-send --bus=$A --print-reply --dest=com.example.Echo / com.example.Any.Any string:x")},
		{run: watch(`"path='/a'"`, "dbus-send --bus=$A /a com.example.Any.Signal array:int32:1,2; dbus-send --bus=$A /b com.example.Any.Signal")},
		{run: watch(`--profile "type='error'"`, "dbus-send --bus=$A --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetNameOwner string:com.example.Nobody"), keep: "error"},
		{run: watch("", "dbus-send --bus=$A --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetId"), broker: "it says NameAcquired earlier"},
		{run: "timeout 1 dbus-monitor --address $A nonsense; echo", broker: itsWords, words: true},
	})
}

func TestDBusTestTool(t *testing.T) {
	need(t, "dbus-test-tool", "dbus-bin")
	// It prints how long it took.
	const took = "^exit|rror|fail"
	hole := service{"com.example.Hole", "dbus-test-tool black-hole --session --name=com.example.Hole"}
	stage{services: []service{echoing, hole}}.play(t, []step{
		{run: "dbus-test-tool spam --session --dest=com.example.Echo --count=2000 --flood", keep: took},
		{run: "dbus-test-tool spam --session --dest=com.example.Echo --count=500 --queue=20 --string", keep: took},
		{run: "dbus-test-tool spam --session --dest=com.example.Echo --count=500 --bytes --payload=somewhat", keep: took},
		{run: "dbus-test-tool spam --session --dest=com.example.Hole --count=1000 --no-reply", keep: took},
		{run: "dbus-test-tool spam --session --dest=com.example.Nobody --count=100 --ignore-errors", keep: took},
		{run: "dbus-test-tool spam --session --dest=com.example.Nobody --count=1", broker: itsWords},
		{run: "dbus-send --bus=$A --print-reply --reply-timeout=300 --dest=com.example.Hole / com.example.Any.Any"},
	})
}
