package activation_test

import (
	"slices"
	"testing"

	"quartet/services/busd/internal/activation"
)

const address = "unix:path=/tmp/bus,guid=00112233445566778899aabbccddeeff"

func TestEnviron(t *testing.T) {
	for _, c := range []struct {
		name   string
		own    []string
		update map[string]string
		bus    activation.Bus
		want   []string
	}{
		{
			name: "SessionBus", own: []string{"PATH=/bin", "HOME=/h"}, bus: activation.Bus{Address: address, Type: "session"},
			want: []string{"DBUS_SESSION_BUS_ADDRESS=" + address, "DBUS_STARTER_ADDRESS=" + address, "DBUS_STARTER_BUS_TYPE=session", "HOME=/h", "PATH=/bin"},
		},
		{
			name: "SystemBusLeavesTheSessionAlone", own: []string{"DBUS_SESSION_BUS_ADDRESS=s", "DBUS_SYSTEM_BUS_ADDRESS=old"},
			bus:  activation.Bus{Address: "a", Type: "system"},
			want: []string{"DBUS_SESSION_BUS_ADDRESS=s", "DBUS_STARTER_ADDRESS=a", "DBUS_STARTER_BUS_TYPE=system", "DBUS_SYSTEM_BUS_ADDRESS=a"},
		},
		{
			name: "BusWithoutAType", own: []string{"DBUS_STARTER_BUS_TYPE=session", "DBUS_STARTER_ADDRESS=old"},
			bus: activation.Bus{Address: "a"}, want: []string{"DBUS_STARTER_ADDRESS=a"},
		},
		{
			name: "BusOfAnotherType", bus: activation.Bus{Address: "a", Type: "accessibility"},
			want: []string{"DBUS_STARTER_ADDRESS=a", "DBUS_STARTER_BUS_TYPE=accessibility"},
		},
		{
			name: "WhatIsAboutTheBusIsLeftOut",
			own: []string{
				"LISTEN_FDS=1", "LISTEN_PID=2", "LISTEN_FDNAMES=x", "LISTEN_PIDFDID=3", "NOTIFY_SOCKET=/run/n", "MAINPID=2", "INVOCATION_ID=i",
				"JOURNAL_STREAM=8:1", "SYSTEMD_EXEC_PID=2", "WATCHDOG_PID=2", "WATCHDOG_USEC=1", "CREDENTIALS_DIRECTORY=/run/c", "BUSD_BATCH_BYTES=1",
				"LISTENER=y", "MANAGERPID=1", "XDG_RUNTIME_DIR=/run/user/1",
			},
			bus:  activation.Bus{Address: "a"},
			want: []string{"DBUS_STARTER_ADDRESS=a", "LISTENER=y", "MANAGERPID=1", "XDG_RUNTIME_DIR=/run/user/1"},
		},
		{
			name: "UpdateWinsOverTheBusAndLosesToItsAddress", own: []string{"LANG=C", "A=1"},
			update: map[string]string{"LANG": "de_DE.UTF-8", "NEW": "", "DBUS_STARTER_ADDRESS": "forged", "DBUS_SESSION_BUS_ADDRESS": "forged"},
			bus:    activation.Bus{Address: "a", Type: "session"},
			want:   []string{"A=1", "DBUS_SESSION_BUS_ADDRESS=a", "DBUS_STARTER_ADDRESS=a", "DBUS_STARTER_BUS_TYPE=session", "LANG=de_DE.UTF-8", "NEW="},
		},
		{
			name: "UpdateMaySetWhatIsLeftOut", update: map[string]string{"NOTIFY_SOCKET": "n"}, own: []string{"NOTIFY_SOCKET=o"},
			bus: activation.Bus{Address: "a"}, want: []string{"DBUS_STARTER_ADDRESS=a", "NOTIFY_SOCKET=n"},
		},
		{
			name: "NoVariablesAreLeftOut", own: []string{"", "=x", "novalue", "B=1=2", "B=3"}, update: map[string]string{"": "x", "C=D": "x"},
			bus: activation.Bus{Address: "a"}, want: []string{"B=3", "DBUS_STARTER_ADDRESS=a"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := activation.Environ(c.own, c.update, c.bus); !slices.Equal(got, c.want) {
				t.Errorf("Environ gave\n%q, want\n%q", got, c.want)
			}
		})
	}
}
