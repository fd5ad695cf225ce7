package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"quartet/cmd/quartet/internal/board"
	"quartet/cmd/quartet/internal/fleet"
)

const (
	healthyWithin = 60 * time.Second             // a program that takes longer has a fault
	drainWithin   = 10 * time.Second             // a service serves what it has taken; a picture takes four
	stopWithin    = drainWithin + 10*time.Second // for the rest of its stop; then it is killed
	maxLog        = 16 << 20                     // bytes of a program's log
	redraw        = 2 * time.Second              // the live lines on a terminal
	reprint       = 10 * time.Second             // the live lines elsewhere
)

// up is `quartet up`: it returns nil after a stop that somebody asked for.
func up(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	o, err := parseUp(args, errs)
	if err != nil {
		return err
	}
	release, err := claim(o.data)
	if err != nil {
		return err
	}
	defer release()
	return runSystem(ctx, o, programs(o, environ), out)
}

// runSystem starts the programs, shows what they do until ctx ends or --for is
// over, and stops them.
func runSystem(ctx context.Context, o options, all []program, out io.Writer) error {
	if err := checkPorts(all); err != nil {
		return err
	}
	f := fleet.New(fleet.Options{Logs: o.data, MaxLog: maxLog, Healthy: healthyWithin, Grace: stopWithin})
	err := start(ctx, f, all, out)
	if err == nil && o.chatter > 0 {
		err = open(ctx, "http://"+loopback(portsFrom(o.ports).signal))
	}
	if err == nil {
		err = watch(ctx, o, f, all, out)
	}
	stopErr := f.Stop()
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = nil // stopped while it started
	}
	return errors.Join(err, stopErr)
}

// checkPorts adds what to do about it to the error for a busy port.
func checkPorts(all []program) error {
	var plain []fleet.Program
	for _, p := range all {
		plain = append(plain, p.Program)
	}
	err := fleet.CheckPorts(plain)
	if _, busy := errors.AsType[*fleet.BusyError](err); busy {
		return fmt.Errorf("%w: stop the program that has it, or take other ports with --ports 20000 (make up PORTS=20000)", err)
	}
	return err
}

func start(ctx context.Context, f *fleet.Fleet, all []program, out io.Writer) error {
	for _, p := range all {
		began := time.Now()
		if err := f.Start(ctx, p.Program); err != nil {
			return err
		}
		fmt.Fprintf(out, "%-10s ready after %d ms\n", p.Name, time.Since(began).Milliseconds())
	}
	return nil
}

// watch shows the links and the live lines, and at the end the tables.
func watch(ctx context.Context, o options, f *fleet.Fleet, all []program, out io.Writer) error {
	if o.stopIn > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.stopIn)
		defer cancel()
	}
	began := time.Now()
	greet(out, o, all)
	r := newReader()
	stopLive := func() {}
	if !o.quiet {
		stopLive = live(ctx, newBoard(out), r, all)
	}
	err := f.Wait(ctx)
	stopLive()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nstopping after %v; a second Ctrl-C does not wait for what is under way\n", time.Since(began).Round(time.Second))
	return r.tables(out, all)
}

func greet(out io.Writer, o options, all []program) {
	fmt.Fprintln(out)
	for _, p := range all {
		for _, l := range p.links {
			fmt.Fprintf(out, "  %-24s %s\n", l.what, l.url)
		}
	}
	fmt.Fprintf(out, "  %-24s %s\n", "logs", o.data)
	if o.stopIn > 0 {
		fmt.Fprintf(out, "\nstops by itself after %v, or on Ctrl-C", o.stopIn)
	} else {
		fmt.Fprint(out, "\nCtrl-C stops everything")
	}
	fmt.Fprint(out, ".\nFigures are since the start, times in ms: own is the service's, upstream and\nsend are other parties' (mean per request).\n\n")
}

// live refreshes the board until the returned function is called, which
// returns when nothing is drawn any more.
func live(ctx context.Context, b *board.Board, r *reader, all []program) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				draw(ctx, b, r, all, now)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func draw(ctx context.Context, b *board.Board, r *reader, all []program, now time.Time) {
	var lines []string
	for _, p := range all {
		lines = append(lines, fmt.Sprintf("%-9s %s", p.Name, r.line(ctx, p)))
	}
	if ctx.Err() == nil { // else the figures may be errors of the stop
		b.Show(now, lines)
	}
}

// newBoard draws in place when out is a terminal that can.
func newBoard(out io.Writer) *board.Board {
	b := &board.Board{Out: out, Every: reprint}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || strings.EqualFold(os.Getenv("TERM"), "dumb") {
		return b
	}
	b.Width = func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 80
		}
		return width
	}
	return b
}
