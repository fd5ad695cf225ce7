package activation_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"quartet/services/busd/internal/activation"
	"quartet/services/busd/internal/service"
	"quartet/services/busd/internal/spawn"
)

// check compares an error, "" for none, with what dbus-daemon answers.
func check(t *testing.T, got *activation.Error, name, message string) {
	t.Helper()
	switch {
	case name == "" && got != nil:
		t.Errorf("there is the error %v, want none", got)
	case name != "" && got == nil:
		t.Errorf("there is no error, want %s: %s", name, message)
	case name != "" && (got.Name != "org.freedesktop.DBus.Error."+name || got.Message != message):
		t.Errorf("the error is %v, want %s: %q", got, name, message)
	}
}

func TestFailure(t *testing.T) {
	for _, c := range []struct {
		name        string
		helper      bool
		event       spawn.Event
		error, text string
	}{
		{name: "Started", event: spawn.Event{Kind: spawn.Started, PID: 7}},
		{
			name: "ProgramMissing", event: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.ENOENT},
			error: "Spawn.ExecFailed", text: "Failed to execute program a.b: No such file or directory",
		},
		{
			name: "ProgramNotExecutable", helper: true, event: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.EACCES},
			error: "Spawn.ExecFailed", text: "Failed to execute program a.b: Permission denied",
		},
		{
			name: "TooManyProcesses", event: spawn.Event{Kind: spawn.ExecFailed, Errno: syscall.EAGAIN},
			error: "NoMemory", text: "Failed to fork a new process a.b: Resource temporarily unavailable",
		},
		// A program that forks and exits with 0 is fine: wait for the name.
		{name: "Exited0", event: spawn.Event{Kind: spawn.Exited, PID: 7}},
		{name: "HelperExited0", helper: true, event: spawn.Event{Kind: spawn.Exited, PID: 7}},
		{
			name: "Exited", event: spawn.Event{Kind: spawn.Exited, PID: 7, Status: 3},
			error: "Spawn.ChildExited", text: "Process a.b exited with status 3",
		},
		{
			name: "Crashed", event: spawn.Event{Kind: spawn.Signalled, PID: 7, Signal: syscall.SIGSEGV},
			error: "Spawn.ChildSignaled", text: "Process a.b received signal 11",
		},
		{
			name: "HelperCrashed", helper: true, event: spawn.Event{Kind: spawn.Signalled, PID: 7, Signal: syscall.SIGKILL},
			error: "Spawn.ChildSignaled", text: "Process a.b received signal 9",
		},
		{
			name: "LostBeforeItStarted", event: spawn.Event{Kind: spawn.Lost, Err: errors.New("it died")},
			error: "Spawn.Failed", text: "Failed to start a.b: it died",
		},
		{name: "LostWhileItRuns", event: spawn.Event{Kind: spawn.Lost, PID: 7, Err: errors.New("it died")}},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, activation.Failure("a.b", c.helper, c.event), c.error, c.text) })
	}
}

func TestHelperExitCodes(t *testing.T) {
	for code, want := range map[int]activation.Error{
		1:  {Name: "Spawn.ChildExited", Message: "Launch helper exited with unknown return code 1"},
		2:  {Name: "NoMemory", Message: "Launcher could not run (out of memory)"},
		3:  {Name: "Spawn.ConfigInvalid", Message: "Invalid configuration (missing or empty <user>?)"},
		4:  {Name: "Spawn.FailedToSetup", Message: "Failed to setup environment correctly"},
		5:  {Name: "Spawn.ServiceNotValid", Message: "Bus name is not valid or missing"},
		6:  {Name: "Spawn.ServiceNotFound", Message: "Bus name not found in system service directory"},
		7:  {Name: "Spawn.PermissionsInvalid", Message: "The permission of the setuid helper is not correct"},
		8:  {Name: "Spawn.PermissionsInvalid", Message: "The service file is incorrect or does not have all required attributes"},
		9:  {Name: "Spawn.ExecFailed", Message: "Cannot launch daemon, file not found or permissions invalid"},
		10: {Name: "InvalidArgs", Message: "Invalid arguments to command line"},
		11: {Name: "Spawn.ChildSignaled", Message: "Launched child was signaled, it probably crashed"},
		12: {Name: "Spawn.ChildExited", Message: "Launch helper exited with unknown return code 12"},
	} {
		check(t, activation.Failure("a.b", true, spawn.Event{Kind: spawn.Exited, Status: code}), want.Name, want.Message)
	}
}

func TestCommand(t *testing.T) {
	const helper = "/usr/lib/dbus-1.0/dbus-daemon-launch-helper"
	for _, c := range []struct {
		name        string
		service     service.Service
		helper      string
		want        []string
		error, text string
	}{
		// bus1/dbus-broker#70: a file with Exec alone has to be enough.
		{name: "Exec", service: service.Service{Name: "a.b", Exec: "/bin/a 'b c'"}, want: []string{"/bin/a", "b c"}},
		{name: "NothingToRun", service: service.Service{Name: "a.b"}},
		{name: "NothingToRunForTheHelper", service: service.Service{Name: "a.b"}, helper: helper},
		{name: "Helper", service: service.Service{Name: "a.b", Exec: "/bin/a", User: "u"}, helper: helper, want: []string{helper, "a.b"}},
		{
			name: "HelperWithoutUser", service: service.Service{Name: "a.b", Exec: "/bin/a"}, helper: helper,
			error: "Spawn.FileInvalid", text: "Cannot do system-bus activation with no user\n",
		},
		{
			name: "OpenQuote", service: service.Service{Name: "a.b", Exec: "/bin/a '"},
			error: "InvalidArgs", text: "Unclosed quotes in command line",
		},
		{
			name: "OnlyAComment", service: service.Service{Name: "a.b", Exec: "# /bin/a"},
			error: "InvalidArgs", text: "No tokens found in command line",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, failure := activation.Command(c.service, c.helper)
			check(t, failure, c.error, c.text)
			if !slices.Equal(got, c.want) {
				t.Errorf("Command gave %q, want %q", got, c.want)
			}
		})
	}
}
