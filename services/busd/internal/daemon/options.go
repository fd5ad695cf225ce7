package daemon

import (
	"fmt"
	"strconv"
	"strings"
)

// Where dbus-daemon finds the configuration of the well-known buses.
const (
	SessionConfig = "/usr/share/dbus-1/session.conf"
	SystemConfig  = "/usr/share/dbus-1/system.conf"
)

// Choice is a question that the command line or else the configuration file
// answers.
type Choice uint8

// The answers.
const (
	AsConfigured Choice = iota
	Yes
	No
)

// Syslog is where the log goes, by the command line.
type Syslog uint8

// The ways to log.
const (
	SyslogAsConfigured Syslog = iota
	SyslogNever
	SyslogToo
	SyslogOnly
)

// Action is what a command line asks for.
type Action uint8

// The actions: all but the first print something and end.
const (
	RunBus Action = iota
	PrintVersion
	PrintIntrospection
	PrintHelp
)

// Options are a command line of dbus-daemon(1).
type Options struct {
	Action Action

	Config     string // file; "" with Standalone
	Standalone bool   // there is no file: see standalone.go
	Address    string // in place of all <listen>; "" is none
	Fork       Choice
	Syslog     Syslog
	NoPIDFile  bool
	Systemd    bool // activation is done by systemd

	// Descriptors to print to, -1 for none.
	PrintAddress, PrintPID int
}

// UsageError is a command line that cannot be understood.
type UsageError struct {
	Text string // "" when the usage says it all
	// Usage tells whether the usage is to be printed behind it.
	Usage bool
}

func (e *UsageError) Error() string {
	if e.Text == "" {
		return "wrong usage"
	}
	return e.Text
}

// Usage is what dbus-daemon prints of its options, for a program of this name.
func Usage(program string) string {
	return program + " [--version] [--session] [--system] [--config-file=FILE] [--print-address[=DESCRIPTOR]] [--print-pid[=DESCRIPTOR]]" +
		" [--introspect] [--address=ADDRESS] [--standalone] [--nopidfile] [--nosyslog] [--syslog] [--syslog-only] [--nofork] [--fork] [--systemd-activation]\n"
}

// ParseArgs reads a command line as dbus-daemon does: the values of some
// options may be the next argument, which is then no option, but for those
// that stand before the option in this order. An error is a *UsageError.
func ParseArgs(args []string) (Options, error) {
	p := parser{o: Options{PrintAddress: -1, PrintPID: -1}}
	for _, arg := range args {
		if err := p.take(arg); err != nil {
			return p.o, err
		}
		if p.o.Action != RunBus {
			return p.o, nil
		}
		p.previous = arg
	}
	if p.address && p.o.PrintAddress < 0 {
		p.o.PrintAddress = 1
	}
	if p.pid && p.o.PrintPID < 0 {
		p.o.PrintPID = 1
	}
	if p.o.Config == "" && !p.o.Standalone {
		return p.o, &UsageError{Text: "No configuration file specified.", Usage: true}
	}
	if p.o.Config != "" && p.o.Standalone {
		return p.o, &UsageError{Text: "--standalone specified but configuration file " + p.o.Config + " already requested"}
	}
	return p.o, nil
}

type parser struct {
	o            Options
	previous     string
	address, pid bool // are to be printed
}

func (p *parser) take(arg string) error {
	switch arg {
	case "--help", "-h", "-?":
		p.o.Action = PrintHelp
	case "--version":
		p.o.Action = PrintVersion
	case "--introspect":
		p.o.Action = PrintIntrospection
	case "--nofork":
		p.o.Fork = No
	case "--fork":
		p.o.Fork = Yes
	case "--nopidfile":
		p.o.NoPIDFile = true
	case "--nosyslog":
		p.o.Syslog = SyslogNever
	case "--syslog":
		p.o.Syslog = SyslogToo
	case "--syslog-only":
		p.o.Syslog = SyslogOnly
	case "--systemd-activation":
		p.o.Systemd = true
	case "--standalone":
		p.o.Standalone = true
	case "--system":
		return p.config("--system", SystemConfig)
	case "--session":
		return p.config("--session", SessionConfig)
	default:
		return p.takeValue(arg)
	}
	return nil
}

// takeValue handles the options that have values, and values that stand alone.
func (p *parser) takeValue(arg string) error {
	for _, option := range []struct {
		name string
		set  func(value string) error
		ask  *bool // it may go without a value
	}{
		{"--config-file", func(v string) error { return p.config("--config-file", v) }, nil},
		{"--address", p.listen, nil},
		{"--print-address", func(v string) error { return descriptor("--print-address", "address", v, &p.o.PrintAddress) }, &p.address},
		{"--print-pid", func(v string) error { return descriptor("--print-pid", "pid", v, &p.o.PrintPID) }, &p.pid},
	} {
		value, attached := strings.CutPrefix(arg, option.name+"=")
		switch {
		case attached, p.previous == option.name:
			if option.ask != nil {
				*option.ask = true
			}
			return option.set(value) // without the prefix, value is arg
		case arg == option.name:
			if option.ask != nil {
				*option.ask = true
			}
			return nil
		}
	}
	return &UsageError{Usage: true}
}

func (p *parser) config(option, file string) error {
	if p.o.Config != "" {
		return &UsageError{Text: option + " specified but configuration file " + p.o.Config + " already requested"}
	}
	p.o.Config = file
	return nil
}

func (p *parser) listen(address string) error {
	if p.o.Address != "" {
		return &UsageError{Text: "--address specified but address " + p.o.Address + " already requested"}
	}
	p.o.Address = address
	return nil
}

// descriptor sets where to print what; without a value that is decided in the
// end.
func descriptor(option, what, value string, to *int) error {
	if *to >= 0 {
		return &UsageError{Text: fmt.Sprintf("%s specified but printing %s to %d already requested", option, what, *to)}
	}
	if value == "" {
		return nil
	}
	fd, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return &UsageError{Text: fmt.Sprintf("Invalid file descriptor: %q", value)}
	}
	*to = int(fd)
	return nil
}
