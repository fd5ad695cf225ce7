// Command busd is a D-Bus message bus. It takes the place of dbus-daemon: it has
// the same command line, reads the same configuration files, and is that
// program for whoever calls it by that name.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"quartet/kit/settings"
	"quartet/services/busd/internal/config"
	"quartet/services/busd/internal/daemon"
)

const usage = `busd is a D-Bus message bus.

Usage:
  busd OPTIONS             run a bus; options are those of dbus-daemon:
                           %s
                           --standalone needs no configuration file
  busd check CONFIG        explain a configuration file
  busd check CONFIG --would-allow SENDER RECEIVER MESSAGE
                           say which rule decides, and its file and line. SENDER is
                           uid=1000,gid=100; RECEIVER likewise, with name=NAME for
                           what it owns, or a NAME alone; MESSAGE is, as far as the
                           rules ask, type=method_call,interface=…,member=…,path=…,
                           error=…,destination=…,fds=…,requested_reply=true
  busd check CONFIG --would-own SENDER NAME
                           likewise, whether SENDER may own a name
  busd top [ADDRESS]       show who is connected and what waits for whom
  busd env [--markdown]    print every variable, its default and its meaning
  busd healthcheck [ADDRESS]
                           ask a running bus whether it answers
  busd version             print the version
  busd help                print this

ADDRESS is that of the session bus where there is one, or else the system bus's.

Exit codes: 0 done, 1 it did not work (or it would be refused), 2 wrong
usage of a sub-command.
`

// errUsage ends the process with exit code 2.
var errUsage = errors.New("wrong usage")

// errRefused ends the process with exit code 1; what was printed says why.
var errRefused = errors.New("refused")

func main() {
	if code, is := daemon.Helper(); is {
		os.Exit(code)
	}
	name, args := daemon.ProgramName(), os.Args[1:]
	if name == "dbus-daemon" || len(args) == 0 || strings.HasPrefix(args[0], "-") && args[0] != "--help" {
		os.Exit(daemon.Main(daemon.Parts{Program: name, Version: daemon.Version(), Stderr: os.Stderr}, args, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, args, os.Stdout)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "busd:", err)
		os.Exit(2)
	case errors.Is(err, errRefused):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "busd:", printable(err.Error())) // it may be a bus's word
		os.Exit(1)
	}
}

// run is everything but to run a bus.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	switch name, rest := args[0], args[1:]; name {
	case "check":
		return check(rest, stdout)
	case "top":
		return top(ctx, rest, stdout)
	case "env":
		return printEnv(rest, stdout)
	case "healthcheck":
		return healthcheck(rest, stdout)
	case "version":
		if len(rest) > 0 {
			return fmt.Errorf("%w: busd version takes nothing, see busd help", errUsage)
		}
		_, err := fmt.Fprintln(stdout, "busd", daemon.Version())
		return err
	case "help", "--help":
		options := strings.TrimSpace(daemon.Usage(""))
		_, err := fmt.Fprintf(stdout, usage, strings.ReplaceAll(options, "] [", "]\n                           ["))
		return err
	default:
		return fmt.Errorf("%w: there is no command %q, see busd help", errUsage, name)
	}
}

func printEnv(args []string, stdout io.Writer) error {
	markdown := len(args) == 1 && args[0] == "--markdown"
	if len(args) > 0 && !markdown {
		return fmt.Errorf("%w: busd env takes --markdown and nothing else, see busd help", errUsage)
	}
	return settings.Write[config.Config](stdout, config.Prefix, markdown)
}
