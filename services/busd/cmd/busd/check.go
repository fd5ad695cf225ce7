package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/catalog"
	"quartet/services/busd/internal/daemon"
	"quartet/services/busd/internal/logs"
)

// check explains what a bus would do with a configuration file, or which rule
// of it decides about a message or a name.
func check(args []string, stdout io.Writer) error {
	answer, err := parseCheck(args)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	l, err := daemon.Load(args[0])
	if err != nil {
		return err
	}
	return answer(stdout, l)
}

// parseCheck reads what is asked about the file that comes first.
func parseCheck(args []string) (answer func(io.Writer, *daemon.Loaded) error, err error) {
	if len(args) > 0 && args[0] != "" && !strings.HasPrefix(args[0], "-") {
		switch {
		case len(args) == 1:
			return explain, nil
		case args[1] == "--would-allow" && len(args) == 5:
			q, err := parseQuestion(args[2], args[3], args[4])
			return q.answer, err
		case args[1] == "--would-own" && len(args) == 4:
			q, err := parseClaim(args[2], args[3])
			return q.answer, err
		}
	}
	return nil, errors.New("busd check takes a file and perhaps --would-allow SENDER RECEIVER MESSAGE or --would-own SENDER NAME, see busd help")
}

func explain(out io.Writer, l *daemon.Loaded) error {
	c := l.Config
	line := func(name, format string, a ...any) {
		fmt.Fprintf(out, "%-12s "+format+"\n", append([]any{name}, a...)...)
	}
	line("type", "%s", cmp.Or(c.Type, "none"))
	line("listens on", "%s", strings.Join(c.Listen, "\n             "))
	line("user", "%s", cmp.Or(c.User, "whoever starts it"))
	auth := cmp.Or(strings.Join(c.Auth, ", "), "EXTERNAL, DBUS_COOKIE_SHA1, ANONYMOUS")
	if c.AllowAnonymous {
		auth += "; anonymous connections are allowed"
	}
	line("auth", "%s", auth)
	line("background", "%s", map[bool]string{true: "yes", false: "only with --fork"}[c.Fork])
	line("pid file", "%s", cmp.Or(c.PIDFile, "none"))
	line("log", "%s", map[bool]string{true: "standard error and the system's log", false: "standard error"}[c.Syslog])
	line("activation", "%s", cmp.Or(c.ServiceHelper, "by the bus itself"))
	line("files", "%s", strings.Join(slices.Concat(c.Files, c.Dirs), "\n             "))
	explainPolicy(out, c)
	explainLimits(out, &c.Limits)
	explainServices(out, l)
	for _, w := range l.Warnings {
		fmt.Fprintf(out, "\nwarning: %s\n", w)
	}
	faults := l.Faults()
	for _, fault := range faults {
		fmt.Fprintf(out, "\nfault: no bus starts with this: %s\n", fault)
	}
	if len(faults) > 0 {
		return errRefused
	}
	return nil
}

func explainPolicy(out io.Writer, c *busconf.Config) {
	fmt.Fprintln(out, "\npolicy")
	for i := range c.Policies {
		s := &c.Policies[i]
		allow, deny := 0, 0
		for k := range s.Rules {
			if s.Rules[k].Allow {
				allow++
			} else {
				deny++
			}
		}
		fmt.Fprintf(out, "  %-28s %3d allow, %3d deny  %s:%d\n", s, allow, deny, s.File, s.Line)
	}
}

func explainLimits(out io.Writer, limits *busconf.Limits) {
	usual := busconf.DefaultLimits()
	fmt.Fprintln(out, "\nlimits that are not the usual ones")
	none := true
	for _, name := range busconf.LimitNames() {
		is, _ := limits.Get(name)
		was, _ := usual.Get(name)
		if is != was {
			none = false
			fmt.Fprintf(out, "  %-32s %d in place of %d\n", name, is, was)
		}
	}
	if none {
		fmt.Fprintln(out, "  none")
	}
}

func explainServices(out io.Writer, l *daemon.Loaded) {
	fmt.Fprintln(out, "\nservices")
	for _, dir := range l.Services {
		note := map[catalog.Naming]string{catalog.StrictName: " (files have to be called NAME.service)"}[dir.Naming]
		fmt.Fprintf(out, "  from %s%s\n", dir.Path, note)
	}
	all := catalog.New(catalog.Options{
		Dirs: l.Services,
		Log:  slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: logs.WithoutTime})),
	}).Snapshot()
	for _, name := range all.Names() {
		e, _ := all.Lookup(name)
		fmt.Fprintf(out, "  %-48s %s\n", name, cmp.Or(e.Exec, "is waited for")+unit(e.SystemdService))
	}
	fmt.Fprintf(out, "  %d in all\n", len(all.Names()))
}

func unit(name string) string {
	if name == "" {
		return ""
	}
	return "; by systemd: " + name
}
