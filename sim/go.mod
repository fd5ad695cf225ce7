module quartet/sim

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/godbus/dbus/v5 v5.2.4
)

require golang.org/x/sys v0.27.0 // indirect
