package activation

import (
	"errors"
	"fmt"
	"syscall"

	"quartet/services/busd/internal/service"
	"quartet/services/busd/internal/spawn"
)

// Error is a D-Bus error reply.
type Error struct {
	Name    string
	Message string
}

// The prefix of all names here, and the names used more than once.
const (
	prefix      = "org.freedesktop.DBus.Error."
	noMemory    = prefix + "NoMemory"
	execFailed  = prefix + "Spawn.ExecFailed"
	childExited = prefix + "Spawn.ChildExited"
	childKilled = prefix + "Spawn.ChildSignaled"
	permissions = prefix + "Spawn.PermissionsInvalid"
)

// helperFailures are the exit codes of the setuid helper
// (dbus-daemon-launch-helper). Code 1 and unknown ones are not in it.
var helperFailures = map[int]Error{
	2: {noMemory, "Launcher could not run (out of memory)"},
	3: {prefix + "Spawn.ConfigInvalid", "Invalid configuration (missing or empty <user>?)"},
	4: {prefix + "Spawn.FailedToSetup", "Failed to setup environment correctly"},
	5: {prefix + "Spawn.ServiceNotValid", "Bus name is not valid or missing"},
	6: {prefix + "Spawn.ServiceNotFound", "Bus name not found in system service directory"},
	7: {permissions, "The permission of the setuid helper is not correct"},
	// That of FileInvalid would be the better name, but this is the one
	// dbus-daemon gives.
	8:  {permissions, "The service file is incorrect or does not have all required attributes"},
	9:  {execFailed, "Cannot launch daemon, file not found or permissions invalid"},
	10: {prefix + "InvalidArgs", "Invalid arguments to command line"},
	11: {childKilled, "Launched child was signaled, it probably crashed"},
}

// Command is what has to be run for a service: its command line, or that of
// the setuid helper, if the bus has one (helper is its path or command line)
// with the name. Nothing is run for a service without Exec; the bus waits
// for its name.
func Command(s service.Service, helper string) ([]string, *Error) {
	if s.Exec == "" {
		return nil, nil
	}
	if helper == "" {
		return words(s.Exec)
	}
	if s.User == "" {
		return nil, &Error{prefix + "Spawn.FileInvalid", "Cannot do system-bus activation with no user\n"}
	}
	argv, failure := words(helper)
	if failure != nil {
		return nil, failure
	}
	return append(argv, s.Name), nil
}

func words(command string) ([]string, *Error) {
	argv, err := service.Words(command)
	switch {
	case errors.Is(err, service.ErrUnclosedQuote):
		return nil, &Error{prefix + "InvalidArgs", "Unclosed quotes in command line"}
	case err != nil:
		return nil, &Error{prefix + "InvalidArgs", "No tokens found in command line"}
	}
	return argv, nil
}

// Failure is what those who wait for a name are told when its program comes
// to this; nil when there is no reason yet to give up. A program that exits
// with 0 has put itself into the background, and may still take the name.
func Failure(name string, helper bool, e spawn.Event) *Error {
	switch e.Kind {
	case spawn.ExecFailed:
		if e.Errno == syscall.EAGAIN || e.Errno == syscall.ENOMEM { // of the fork, as good as always
			return &Error{noMemory, fmt.Sprintf("Failed to fork a new process %s: %s", name, errnoText(e.Errno))}
		}
		return &Error{execFailed, fmt.Sprintf("Failed to execute program %s: %s", name, errnoText(e.Errno))}
	case spawn.Exited:
		switch {
		case e.Status == 0:
			return nil
		case helper:
			if failure, known := helperFailures[e.Status]; known {
				return &failure
			}
			return &Error{childExited, fmt.Sprintf("Launch helper exited with unknown return code %d", e.Status)}
		}
		return &Error{childExited, fmt.Sprintf("Process %s exited with status %d", name, e.Status)}
	case spawn.Signalled:
		return &Error{childKilled, fmt.Sprintf("Process %s received signal %d", name, int(e.Signal))}
	case spawn.Lost:
		if e.PID != 0 {
			return nil // it runs, and nobody knows that it won't take the name
		}
		return &Error{prefix + "Spawn.Failed", fmt.Sprintf("Failed to start %s: %s", name, e.Err)}
	}
	return nil
}

// errnoText is the C library's text: Go's differ in the first letter.
func errnoText(errno syscall.Errno) string {
	text := []byte(errno.Error())
	isLower := func(c byte) bool { return 'a' <= c && c <= 'z' }
	if len(text) > 1 && isLower(text[0]) && isLower(text[1]) {
		text[0] -= 'a' - 'A'
	}
	return string(text)
}
