// Command botd is a Signal group bot. It receives frames from
// signal-cli-rest-api, answers commands, and reports whose time every answer
// took.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"quartet/kit/settings"
	"quartet/services/botd/internal/config"
)

const usage = `botd answers commands in Signal groups.

Usage:
  botd                     run the bot; it is configured by environment variables
  botd check [--connect]   explain the configuration; and ask Signal's server
  botd replay FILE         run recorded frames, one a line, and print the answers;
                           nothing is sent or asked of others. - reads stdin
  botd link [NAME]         make the bot a device of an account: shows a QR code
  botd profile NAME        set the name that people see
  botd env [--markdown]    print every variable, its default and its meaning
  botd latency TARGET      measure a running bot's own share of its replies
  botd healthcheck [ADDR]  ask a running bot whether it is ready; exit code 1 if not
  botd version             print the version
  botd help                print this

Exit codes: 0 done, 1 it did not work (for latency: over budget), 2 wrong usage
or configuration.
`

// errUsage ends the process with exit code 2.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the drain
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "botd:", err)
		os.Exit(2)
	case errors.Is(err, errOverBudget):
		os.Exit(1) // the report has said it
	default:
		fmt.Fprintln(os.Stderr, "botd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	// It is net/http's alone, which writes there, as it came, what a server sends
	// that nobody asked for.
	stdlog.SetOutput(io.Discard)
	if len(args) == 0 {
		return serve(ctx, environ, stderr)
	}
	switch name, rest := args[0], args[1:]; name {
	case "check":
		return check(ctx, rest, environ, stdout)
	case "replay":
		return replay(ctx, rest, environ, os.Stdin, stdout, stderr)
	case "link":
		return linkDevice(ctx, rest, environ, stdout)
	case "profile":
		return setProfile(ctx, rest, environ, stdout)
	case "env":
		return printEnv(rest, stdout)
	case "latency":
		return measure(ctx, rest, stdout, stderr)
	case "healthcheck":
		return healthcheck(ctx, rest, environ, stdout)
	case "version", "--version":
		if len(rest) > 0 {
			return fmt.Errorf("%w: botd version takes nothing, see botd help", errUsage)
		}
		_, err := fmt.Fprintln(stdout, "botd", version())
		return err
	case "help", "-h", "-help", "--help":
		_, err := io.WriteString(stdout, usage)
		return err
	default:
		return fmt.Errorf("%w: there is no command %q, see botd help", errUsage, name)
	}
}

func printEnv(args []string, stdout io.Writer) error {
	markdown := len(args) == 1 && args[0] == "--markdown"
	if len(args) > 0 && !markdown {
		return fmt.Errorf("%w: botd env takes --markdown and nothing else, see botd help", errUsage)
	}
	return settings.Write[config.Config](stdout, config.Prefix, markdown)
}

// version is the commit or module version that the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}
