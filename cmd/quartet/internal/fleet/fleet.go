// Package fleet runs several programs that make one system: started one after
// the other, each when the one before it answers, and stopped in the reverse
// order.
//
// When one of them dies by itself the fleet says which, how and what it said
// last; the caller stops the rest. Nothing is restarted: this is for showing
// and testing a system, not for keeping one up.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quartet/cmd/quartet/internal/proc"
)

// Program is one program of the system.
type Program struct {
	Name   string
	Path   string
	Args   []string
	Env    []string // the whole environment
	Ports  []Port   // what it listens on
	Health string   // a URL that answers when it is ready
	Status int      // with this status
}

// Options are the limits of a fleet.
type Options struct {
	Logs    string        // folder of the children's logs, NAME.log
	MaxLog  int64         // bytes of one log; then only its end is kept
	Healthy time.Duration // how long a program may take until it answers
	Grace   time.Duration // how long a program may take to stop after SIGTERM
}

// Fleet is a running system. Its methods are for one goroutine.
type Fleet struct {
	o       Options
	client  *http.Client
	members []member
	died    chan member
}

type member struct {
	name    string
	log     string
	process *proc.Process
	ready   bool // it has answered
}

// New makes a fleet without members.
func New(o Options) *Fleet {
	return &Fleet{
		o:      o,
		client: &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
		died:   make(chan member, 16),
	}
}

// Death is the error for a program that ended though nobody asked it to.
type Death struct {
	Name string
	Exit string   // "exit status 1", "signal: killed"
	Log  string   // path of its log
	Tail []string // the log's last lines
}

func (d *Death) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ended by itself (%s)", d.Name, d.Exit)
	if len(d.Tail) == 0 {
		fmt.Fprintf(&b, " and wrote nothing to %s", d.Log)
		return b.String()
	}
	fmt.Fprintf(&b, "; the last lines of %s:", d.Log)
	for _, l := range d.Tail {
		b.WriteString("\n    " + l)
	}
	return b.String()
}

// Start starts p and returns when it is ready. After an error the fleet may
// hold a half-started program: Stop stops it too. A *Death says that p, or a
// program before it, ended.
func (f *Fleet) Start(ctx context.Context, p Program) error {
	log := filepath.Join(f.o.Logs, p.Name+".log")
	process, err := proc.Start(proc.Spec{Path: p.Path, Args: p.Args, Env: p.Env, Log: log})
	if err != nil {
		return err
	}
	m := member{name: p.Name, log: log, process: process}
	f.members = append(f.members, m)
	go func() {
		<-process.Done()
		f.died <- m
	}()
	if err := f.awaitHealth(ctx, p, log); err != nil {
		return err
	}
	f.members[len(f.members)-1].ready = true
	return nil
}

func (f *Fleet) awaitHealth(ctx context.Context, p Program, log string) error {
	limit := time.NewTimer(f.o.Healthy)
	defer limit.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		answer := f.probe(ctx, p)
		if answer == "" {
			return nil
		}
		select {
		case <-again.C:
		case m := <-f.died:
			return death(m)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return fmt.Errorf("%s is not ready after %v: %s (its log is %s)", p.Name, f.o.Healthy, answer, log)
		}
	}
}

// probe returns "" when the program is ready, else what it answered.
func (f *Fleet) probe(ctx context.Context, p Program) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Health, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return err.Error()
	}
	resp.Body.Close()
	if resp.StatusCode != p.Status {
		return fmt.Sprintf("%s answers %s", p.Health, resp.Status)
	}
	return ""
}

// logCheck is how often Wait looks whether a log has grown too long.
const logCheck = 2 * time.Second

// Wait returns nil when ctx ends, and a *Death when a program ends before.
// Meanwhile it keeps the logs within their bound.
func (f *Fleet) Wait(ctx context.Context) error {
	check := time.NewTicker(logCheck)
	defer check.Stop()
	for {
		select {
		case m := <-f.died:
			return death(m)
		case <-ctx.Done():
			return nil
		case <-check.C:
			for _, m := range f.members {
				_ = proc.Trim(m.log, f.o.MaxLog) // somebody may have taken the log away
			}
		}
	}
}

// Stop stops all members, the last started first. Its error names those that
// had to be killed, and those that were ready and then did not end with exit
// status 0. A member that had ended before is not its business: see Wait.
func (f *Fleet) Stop() error {
	var errs []error
	for _, m := range slices.Backward(f.members) {
		select {
		case <-m.process.Done():
			continue
		default:
		}
		if m.process.Stop(f.o.Grace) {
			errs = append(errs, fmt.Errorf("%s did not stop within %v and was killed (its log is %s)", m.name, f.o.Grace, m.log))
		} else if err := m.process.Err(); err != nil && m.ready {
			errs = append(errs, fmt.Errorf("%s was asked to stop and ended with %w (its log is %s)", m.name, err, m.log))
		}
	}
	f.members = nil
	return errors.Join(errs...)
}

// tailLines is how much of a dead program's log is shown.
const tailLines = 20

func death(m member) *Death {
	tail, err := proc.Tail(m.log, tailLines)
	if err != nil {
		tail = []string{"(its log cannot be read: " + err.Error() + ")"}
	}
	exit := "exit status 0"
	if err := m.process.Err(); err != nil {
		exit = err.Error()
	}
	return &Death{Name: m.name, Exit: exit, Log: m.log, Tail: tail}
}
