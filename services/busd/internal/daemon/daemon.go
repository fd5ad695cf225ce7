// Package daemon is the program around a bus: what dbus-daemon(1) does before,
// beside and after the forwarding of messages.
//
//	options.go     the command line
//	load.go        the configuration, and what it means on this machine
//	console.go     who sits at the console
//	standalone.go  the one that needs no file
//	main.go        what the command line asks for, and exit codes
//	fork.go        going into the background
//	daemon.go      a bus from its start to its end
//	open.go        sockets, pid file, identity of the bus
//	rights.go      limits, another user, fewer rights
//	reload.go      the configuration anew, while the bus runs
//	programs.go    the programs that are started for names
//	cookies.go     the cookies that clients authenticate with
//	tell.go        what systemd is told
//	observe.go     what others may look at
//	version.go     which build this is
package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/config"
	"quartet/services/busd/internal/logs"
	"quartet/services/busd/internal/policy"
)

const (
	logTimeout  = time.Second // for the last lines of the log
	gcPercent   = 50          // the live heap is small: halves what lies beside it
	leastProcs  = 2           // the bus has a thread for itself, everything else another
	openTimeout = time.Minute // for host names of addresses to listen on
)

// Parts are what differs between the programs that run a bus.
type Parts struct {
	Program string // its name in messages
	Version string
	Stderr  io.Writer
	// Observe shows others what the bus does. nil: this program cannot.
	Observe Observe
}

// daemon is a bus and what stands around it.
type daemon struct {
	Parts
	options   Options
	config    config.Config
	environ   []string
	busType   string // "session", "system", another or ""
	listenPID int    // whom LISTEN_PID names: us, or who has put us in the background
	dir       string // where programs run; "" is where we do

	level    slog.LevelVar
	log      *logs.Log
	loaded   *Loaded           // while it starts
	started  map[string]string // what of it a reload cannot change, by element
	address  string            // all of them, with guid
	bus      atomic.Pointer[bus.Bus]
	last     atomic.Pointer[bus.Stats] // what the bus had counted when it ended
	programs *programs
	reloads  reloads
	current  atomic.Pointer[current]

	// What the log says of the configuration in use; only reload has it, once
	// the bus runs.
	warned []policy.Warning
	latest map[string]string // like started

	undo []func() // in reverse order, at the end
}

// current is what is looked up in the configuration while the bus runs.
type current struct {
	helper  string          // the setuid helper
	files   map[string]bool // whose change is a reason to reload
	watched []string        // these, and the directories of services
}

// run is the life of a bus that is in the foreground or has been put in the
// background. ready is called when it takes connections.
func (d *daemon) run(ready func(address string) error) error {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(leastProcs)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// Whoever reads our stderr may go; so may a peer.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal does not wait
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)

	d.busType, d.started = d.loaded.Config.Type, d.fixed(d.loaded.Config)
	d.latest = d.started
	toSyslog := d.openLog()
	d.undo = append(d.undo, d.closeLog)
	defer d.end()
	err := d.serve(ctx, hangup, ready)
	if err != nil && toSyslog {
		d.log.LogAttrs(ctx, slog.LevelError, "the bus has failed", slog.Any("err", err))
	}
	return err
}

// end undoes what was done, the last first.
func (d *daemon) end() {
	for i := len(d.undo) - 1; i >= 0; i-- {
		d.undo[i]()
	}
}

// serve starts everything, in the order in which rights are needed, and runs
// until ctx ends.
func (d *daemon) serve(ctx context.Context, hangup <-chan os.Signal, ready func(string) error) error {
	guid := newGUID()
	listeners, err := d.open(ctx, guid)
	if err != nil {
		return err
	}
	handedOver := false
	d.undo = append(d.undo, func() {
		if !handedOver {
			closeAll(listeners)
		}
	})
	if err := d.writePIDFile(); err != nil {
		return err
	}
	to, err := d.newUser()
	if err != nil {
		return err
	}
	if err := d.startPrograms(to); err != nil {
		return err
	}
	d.undo = append(d.undo, d.programs.spawner.Close)
	observer, err := d.observe(ctx)
	if err != nil {
		return err
	}
	d.undo = append(d.undo, observer.Close)
	raiseFileLimit(d.log.Logger)
	if err := to.become(); err != nil {
		return err
	}
	d.harden()
	d.programs.openCatalog(d.loaded)
	d.use(d.loaded)
	b, err := bus.New(listeners, d.loaded.Settings, d.busOptions(guid, observer))
	if err != nil {
		return err
	}
	handedOver = true
	d.bus.Store(b)
	d.loaded = nil // it is large, and of no more use
	return d.runBeside(ctx, b, ready, observer.Serve, d.programs.run, d.tellSystemd, func(ctx context.Context) { d.reload(ctx, hangup) })
}

// runBeside runs the bus, and beside it what has to end when it does.
func (d *daemon) runBeside(ctx context.Context, b *bus.Bus, ready func(string) error, beside ...func(context.Context)) error {
	besideCtx, stopBeside := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	for _, each := range beside {
		all.Go(func() { each(besideCtx) })
	}
	err := ready(d.address)
	if err != nil {
		b.Stop()
	}
	err = errors.Join(err, b.Run(ctx))
	last := b.Stats()
	d.last.Store(&last)
	stopBeside()
	all.Wait()
	return err
}

func (d *daemon) busOptions(guid string, o *Observer) bus.Options {
	own := self()
	return bus.Options{
		GUID:            guid,
		MachineID:       machineID(),
		OwnUID:          own.uid,
		OwnName:         own.name,
		BatchMessages:   d.config.BatchMessages,
		BatchBytes:      int(d.config.BatchBytes),
		SendTimeout:     time.Duration(d.config.SendTimeout),
		Quota:           affordable(d.config.Quota(), d.log.Logger),
		Quotas:          d.config.Quotas(),
		ReplyInvalid:    d.config.ReplyInvalid,
		Timing:          o.Timing,
		Sample:          o.Sample,
		OnBatch:         o.OnBatch,
		Log:             d.log.Logger,
		Activation:      d.programs.activation(d.options.Systemd),
		Reload:          d.reloads.ask,
		Cookie:          d.cookies(filepath.Join(own.home, ".dbus-keyrings")),
		AnnounceVerbose: verbose(),
		Verbose: func(on bool) {
			d.level.Set(d.config.LogLevel)
			if on {
				d.level.Set(slog.LevelDebug)
			}
		},
	}
}

// openLog opens the log where the command line or else the configuration wants
// it, and says whether that is the system's too.
func (d *daemon) openLog() (toSyslog bool) {
	d.level.Set(d.config.LogLevel)
	if verbose() {
		d.level.Set(slog.LevelDebug)
	}
	o := logs.Options{Stderr: d.Stderr, Level: &d.level, Attrs: []slog.Attr{slog.String("service", "busd"), slog.String("version", d.Version), slog.String("bus", d.busType)}}
	toSyslog = d.options.Syslog == SyslogToo || d.options.Syslog == SyslogOnly || d.options.Syslog == SyslogAsConfigured && d.loaded.Config.Syslog
	if toSyslog {
		o.Syslog = d.Program
	}
	if d.options.Syslog == SyslogOnly {
		o.Stderr = nil
	}
	d.log = logs.Open(o)
	return toSyslog
}

// verbose says whether every detail is to be logged. DBUS_VERBOSE asks for it
// as it does of a dbus-daemon that was built for debugging.
func verbose() bool { return os.Getenv("DBUS_VERBOSE") != "" }

// closeLog gives the last lines a moment. What is not written by then has
// nowhere to go: not even that can be said.
func (d *daemon) closeLog() {
	ctx, cancel := context.WithTimeout(context.Background(), logTimeout)
	defer cancel()
	_ = d.log.Close(ctx)
}
