package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// options is the command line of `quartet up`.
type options struct {
	bin     string // folder of the programs
	data    string // folder of logs and the pid file
	ports   int    // first of a row of ports; 0 = the usual ones
	stopIn  time.Duration
	chatter time.Duration
	quiet   bool
}

func parseUp(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("quartet up", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.bin, "bin", "", "folder with the programs (default: where quartet itself is)")
	dataFlag(f, &o.data)
	f.IntVar(&o.ports, "ports", 0, "use a row of ports that starts here (default: the usual ones, see `make help`)")
	f.DurationVar(&o.stopIn, "for", 0, "stop by itself after this time, such as 60s (default: run until Ctrl-C)")
	f.DurationVar(&o.chatter, "chatter", 7*time.Second, "simulated people write about once in this time; 0 = nobody does")
	f.BoolVar(&o.quiet, "quiet", false, "print no live lines, only the start and the table at the end")
	if err := parse(f, args); err != nil {
		return o, err
	}
	if o.ports < 0 || o.ports > 65000 {
		return o, refuse(f, "-ports must lie between 1 and 65000")
	}
	if o.stopIn < 0 || o.chatter < 0 {
		return o, refuse(f, "-for and -chatter cannot be negative")
	}
	return o, o.fill()
}

func parseDown(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("quartet down", flag.ContinueOnError)
	f.SetOutput(out)
	dataFlag(f, &o.data)
	if err := parse(f, args); err != nil {
		return o, err
	}
	return o, o.fill()
}

func dataFlag(f *flag.FlagSet, p *string) {
	f.StringVar(p, "data", "", "folder for logs and the pid file (default: run, beside the programs)")
}

// parse refuses stray arguments, which flag leaves alone.
func parse(f *flag.FlagSet, args []string) error {
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errUsage // flag has printed it
	case f.NArg() > 0:
		return refuse(f, fmt.Sprintf("%q is not a flag", f.Arg(0)))
	}
	return nil
}

func refuse(f *flag.FlagSet, what string) error {
	fmt.Fprintf(f.Output(), "%s: %s\n", f.Name(), what)
	return errUsage
}

// fill puts in the folders that depend on where this program is.
func (o *options) fill() error {
	if o.bin == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the programs (or give --bin): %w", err)
		}
		o.bin = filepath.Dir(self)
	}
	if o.data == "" {
		o.data = filepath.Join(o.bin, "run")
	}
	var err error
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	o.data, err = filepath.Abs(o.data)
	return err
}
