package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"quartet/services/busd/internal/client"
)

// healthTimeout is less than what Docker and others give a health check.
const healthTimeout = 4 * time.Second

// healthcheck asks a running bus for its id, as any client could.
func healthcheck(args []string, stdout io.Writer) error {
	address, err := oneAddress("healthcheck", args)
	if err != nil {
		return err
	}
	c, err := client.Dial(address, client.Options{Timeout: healthTimeout})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Driver("GetId", "", nil); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, "ready")
	return err
}

// systemAddress is where the system bus is.
const systemAddress = "unix:path=/run/dbus/system_bus_socket"

// oneAddress is the argument of a sub-command that takes no other.
func oneAddress(command string, args []string) (string, error) {
	switch {
	case len(args) > 1 || len(args) == 1 && (args[0] == "" || strings.HasPrefix(args[0], "-")):
		return "", fmt.Errorf("%w: busd %s takes an address and nothing else, see busd help", errUsage, command)
	case len(args) == 1:
		return args[0], nil
	}
	for _, name := range []string{"DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"} {
		if address := os.Getenv(name); address != "" {
			return address, nil
		}
	}
	return systemAddress, nil
}
