package daemon_test

import (
	"errors"
	"strings"
	"testing"

	"quartet/services/busd/internal/daemon"
)

// The verdicts are those of dbus-daemon 1.14 on the same arguments.
func TestArgumentsAreReadAsByDBusDaemon(t *testing.T) {
	for args, want := range map[string]daemon.Options{
		"--session": {Config: daemon.SessionConfig, PrintAddress: -1, PrintPID: -1},
		"--system --nofork --nopidfile --syslog-only":       {Config: daemon.SystemConfig, Fork: daemon.No, NoPIDFile: true, Syslog: daemon.SyslogOnly, PrintAddress: -1, PrintPID: -1},
		"--config-file=/x --fork":                           {Config: "/x", Fork: daemon.Yes, PrintAddress: -1, PrintPID: -1},
		"--config-file /x --print-address":                  {Config: "/x", PrintAddress: 1, PrintPID: -1},
		"--config-file --address=x":                         {Config: "--address=x", PrintAddress: -1, PrintPID: -1},
		"--config-file --session":                           {Config: daemon.SessionConfig, PrintAddress: -1, PrintPID: -1},
		"--address --config-file=/x":                        {Config: "/x", PrintAddress: -1, PrintPID: -1},
		"--session --address --print-address":               {Config: daemon.SessionConfig, Address: "--print-address", PrintAddress: -1, PrintPID: -1},
		"--session --address":                               {Config: daemon.SessionConfig, PrintAddress: -1, PrintPID: -1},
		"--print-address --address=unix:tmpdir=/ --session": {Config: daemon.SessionConfig, Address: "unix:tmpdir=/", PrintAddress: 1, PrintPID: -1},
		"--print-pid --config-file /x":                      {Config: "/x", PrintAddress: -1, PrintPID: 1},
		"--print-pid= --print-address=1 --session":          {Config: daemon.SessionConfig, PrintAddress: 1, PrintPID: 1},
		"--session --print-address 8 --print-pid 9":         {Config: daemon.SessionConfig, PrintAddress: 8, PrintPID: 9},
		"--session --systemd-activation --syslog":           {Config: daemon.SessionConfig, Systemd: true, Syslog: daemon.SyslogToo, PrintAddress: -1, PrintPID: -1},
		"--session --nosyslog":                              {Config: daemon.SessionConfig, Syslog: daemon.SyslogNever, PrintAddress: -1, PrintPID: -1},
		"--standalone --address unix:path=/x":               {Standalone: true, Address: "unix:path=/x", PrintAddress: -1, PrintPID: -1},
		"--version --bogus":                                 {Action: daemon.PrintVersion, PrintAddress: -1, PrintPID: -1},
		"--session --introspect --bogus":                    {Config: daemon.SessionConfig, Action: daemon.PrintIntrospection, PrintAddress: -1, PrintPID: -1},
		"-?":                                                {Action: daemon.PrintHelp, PrintAddress: -1, PrintPID: -1},
	} {
		if got, err := daemon.ParseArgs(strings.Fields(args)); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", args, got, err, want)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	for args, want := range map[string]daemon.UsageError{
		"":                                  {Text: "No configuration file specified.", Usage: true},
		"--config-file":                     {Text: "No configuration file specified.", Usage: true},
		"--config-file= --nofork":           {Text: "No configuration file specified.", Usage: true},
		"--foo":                             {Usage: true},
		"--bogus --version":                 {Usage: true},
		"--session extra":                   {Usage: true},
		"-- --session":                      {Usage: true},
		"--session --system":                {Text: "--system specified but configuration file " + daemon.SessionConfig + " already requested"},
		"--session --session":               {Text: "--session specified but configuration file " + daemon.SessionConfig + " already requested"},
		"--session --config-file=/x":        {Text: "--config-file specified but configuration file " + daemon.SessionConfig + " already requested"},
		"--session --print-address=x":       {Text: `Invalid file descriptor: "x"`},
		"--session --print-address=2x":      {Text: `Invalid file descriptor: "2x"`},
		"--session --print-address=-1":      {Text: `Invalid file descriptor: "-1"`},
		"--print-address --print-pid":       {Text: `Invalid file descriptor: "--print-pid"`},
		"--print-address --print-pid=1":     {Text: `Invalid file descriptor: "--print-pid=1"`},
		"--session --address=a --address=b": {Text: "--address specified but address a already requested"},
		"--session --print-address 1 --print-address=2": {Text: "--print-address specified but printing address to 1 already requested"},
		"--session --standalone":                        {Text: "--standalone specified but configuration file " + daemon.SessionConfig + " already requested"},
	} {
		_, err := daemon.ParseArgs(strings.Fields(args))
		if got, is := errors.AsType[*daemon.UsageError](err); !is || *got != want {
			t.Errorf("%q: %v; want %+v", args, err, want)
		}
	}
}

func FuzzParseArgs(f *testing.F) {
	f.Add("--session\n--print-address\n1\n--fork")
	f.Add("--config-file=/x\n--address\nunix:path=/y")
	f.Fuzz(func(t *testing.T, args string) {
		o, err := daemon.ParseArgs(strings.Split(args, "\n"))
		if err == nil && o.Action == daemon.RunBus && o.Config == "" && !o.Standalone {
			t.Errorf("%q: a bus without a configuration", args)
		}
	})
}
