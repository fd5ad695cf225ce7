package fleet

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Port is a TCP address that a program listens on.
type Port struct {
	Addr string // host:port
	Use  string // what for: "simsignal's API and chat page"
}

// BusyError says that somebody else listens on a port that we need.
type BusyError struct {
	Program string
	Port    Port
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is in use, and %s needs it for %s", e.Port.Addr, e.Program, e.Port.Use)
}

// CheckPorts finds the first port that is not free, as a *BusyError. It is for
// a clear message: between the check and the start another program may still
// take a port, and then the program itself says so.
func CheckPorts(programs []Program) error {
	for _, p := range programs {
		for _, port := range p.Ports {
			l, err := net.Listen("tcp", port.Addr)
			if errors.Is(err, syscall.EADDRINUSE) {
				return &BusyError{p.Name, port}
			}
			if err != nil {
				return fmt.Errorf("listen for %s: %w", p.Name, err)
			}
			l.Close()
		}
	}
	return nil
}
