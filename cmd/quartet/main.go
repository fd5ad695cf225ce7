// Command quartet runs the whole system on this machine: the services beside
// simulators of the outside world, as plain processes on loopback, with no
// accounts and no configuration. It is what `make up` starts.
//
// It shows whose time a reply takes, the service's own or somebody else's,
// from the services' own metrics. It is for trying and testing; it restarts
// nothing and keeps no state between runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `quartet runs the whole system on this machine.

  quartet up [flags]     start everything, show what happens, stop on Ctrl-C
  quartet down [flags]   stop a running "quartet up" of the same data folder

"quartet up --help" and "quartet down --help" list the flags.
`

func main() {
	// SIGHUP: the terminal was closed, which nohup has us ignore. A second signal
	// ends the launcher at once, and its children with it.
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "quartet:", err)
		os.Exit(1)
	}
}

// errUsage says that the command line is wrong; the message was printed.
var errUsage = errors.New("usage")

func run(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(errs, usage)
		return errUsage
	}
	switch args[0] {
	case "up":
		return up(ctx, args[1:], environ, out, errs)
	case "down":
		return down(ctx, args[1:], out, errs)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usage)
		return nil
	}
	fmt.Fprintf(errs, "quartet: no command %q\n\n%s", args[0], usage)
	return errUsage
}
