// Package activation says what a bus starts for a name, in which
// environment, and which D-Bus error each way of failing becomes (D-Bus
// Specification, "Message Bus Starting Services (Activation)"). It has no
// state: what is pending, the bus knows.
//
// Names and texts of errors are dbus-daemon's, because programs and tests
// compare them.
package activation

import (
	"maps"
	"slices"
	"strings"
)

// Bus is what a program is told of the bus that starts it.
type Bus struct {
	// Address is where the bus listens, every address of it, with guid.
	Address string
	// Type is that of the configuration: "session", "system", another or "".
	Type string
}

// ownVariables are about the process of the bus, or about its unit in
// systemd, and wrong for anything it starts (systemd.exec(5), "Environment
// Variables in Spawned Processes"). Those about the session or the manager
// (XDG_*, MANAGERPID) stay: they hold for the program as well.
var ownVariables = map[string]bool{
	"NOTIFY_SOCKET":         true, // its status is not ours
	"MAINPID":               true,
	"INVOCATION_ID":         true, // its log lines are not ours
	"JOURNAL_STREAM":        true,
	"SYSTEMD_EXEC_PID":      true,
	"WATCHDOG_PID":          true,
	"WATCHDOG_USEC":         true,
	"SERVICE_RESULT":        true,
	"EXIT_CODE":             true,
	"EXIT_STATUS":           true,
	"FDSTORE":               true,
	"CREDENTIALS_DIRECTORY": true,
	"MEMORY_PRESSURE_WATCH": true,
	"MEMORY_PRESSURE_WRITE": true,
	// Set anew below, but only where they apply: a bus without a type must
	// not pass on that of the bus which started it.
	"DBUS_STARTER_ADDRESS":  true,
	"DBUS_STARTER_BUS_TYPE": true,
}

// ownPrefixes begin the names of more such variables: sockets handed over,
// and busd's settings, which another busd below this one must not share.
var ownPrefixes = []string{"LISTEN_", "BUSD_"}

// Environ is the environment of a program: that of the bus ("NAME=value"),
// changed by what UpdateActivationEnvironment set, and what tells of the
// bus, which wins. It is sorted, and has each name once.
func Environ(own []string, update map[string]string, bus Bus) []string {
	variables := make(map[string]string, len(own)+len(update)+3)
	for _, entry := range own {
		name, value, valid := strings.Cut(entry, "=")
		if valid && name != "" && !isOwn(name) {
			variables[name] = value
		}
	}
	for name, value := range update {
		if isVariable(name) {
			variables[name] = value
		}
	}
	variables["DBUS_STARTER_ADDRESS"] = bus.Address
	if bus.Type != "" {
		variables["DBUS_STARTER_BUS_TYPE"] = bus.Type
	}
	switch bus.Type {
	case "session":
		variables["DBUS_SESSION_BUS_ADDRESS"] = bus.Address
	case "system":
		variables["DBUS_SYSTEM_BUS_ADDRESS"] = bus.Address
	}
	environment := make([]string, 0, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		environment = append(environment, name+"="+variables[name])
	}
	return environment
}

// isVariable says whether a name can stand in an environment at all. Whoever asks
// the bus to set another is told so before; this is for all other callers.
func isVariable(name string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00")
}

func isOwn(name string) bool {
	if ownVariables[name] {
		return true
	}
	return slices.ContainsFunc(ownPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
