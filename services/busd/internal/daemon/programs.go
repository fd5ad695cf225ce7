package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"quartet/services/busd/internal/activation"
	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/catalog"
	"quartet/services/busd/internal/spawn"
)

// quiet is how long no file may change before what changed is read.
const quiet = 100 * time.Millisecond

// programs starts programs for names, and knows which there are.
type programs struct {
	d       *daemon
	spawner *spawn.Spawner
	catalog *catalog.Catalog
	watcher *catalog.Watcher // nil where files cannot be watched

	mu      sync.Mutex // guards what follows
	update  map[string]string
	running map[spawn.ID]running
}

// running is a program whose name has not come yet, or that had it.
type running struct {
	name   string
	helper bool
	failed func(name, text string)
}

// startPrograms starts what starts programs, while there are the rights to.
func (d *daemon) startPrograms(as *newUser) (err error) {
	p := &programs{d: d, update: map[string]string{}, running: map[spawn.ID]running{}}
	p.spawner, err = spawn.Open(spawn.Options{Report: p.report, Credential: as.credential(), Dir: d.dir, Log: d.log.Logger})
	d.programs = p
	return err
}

// openCatalog reads the service directories, and prepares to watch them and
// the configuration. A bus where nothing can be watched is still a bus.
func (p *programs) openCatalog(l *Loaded) {
	p.makeTransient(l.Config.ServiceDirs)
	p.catalog = catalog.New(catalog.Options{Dirs: l.Services, Log: p.d.log.Logger})
	var err error
	p.watcher, err = catalog.NewWatcher(catalog.WatchOptions{Quiet: quiet, Changed: p.changed, Log: p.d.log.Logger})
	if err != nil {
		p.d.log.Warn("what changes on disk is seen only on a reload", slog.Any("err", err))
	}
}

// makeTransient makes the folder for services that the session itself makes up
// while it starts: those who do rely on it, because dbus-daemon makes it.
func (p *programs) makeTransient(dirs []busconf.ServiceDir) {
	for _, d := range dirs {
		if !d.Unwatched {
			continue
		}
		for _, dir := range []string{filepath.Dir(d.Path), d.Path} {
			if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				p.d.log.Info("no folder for transient services", slog.Any("err", err))
				break
			}
		}
	}
}

// run watches until ctx ends.
func (p *programs) run(ctx context.Context) {
	if p.watcher == nil {
		return
	}
	if err := p.watcher.Run(ctx); err != nil {
		p.d.log.LogAttrs(ctx, slog.LevelError, "new services are seen only after a reload", slog.Any("err", err))
	}
}

// activation is what the bus calls.
func (p *programs) activation(systemd bool) bus.Activation {
	a := bus.Activation{
		Systemd: systemd,
		Find: func(name string) (bus.Service, bool) {
			e, found := p.catalog.Snapshot().Lookup(name)
			return bus.Service{Name: e.Name, Unit: e.SystemdService, Program: e}, found
		},
		Names:   func() []string { return p.catalog.Snapshot().Names() },
		Start:   p.start,
		Stop:    p.stop,
		Refresh: p.refresh,
	}
	if p.watcher != nil {
		a.Changing = p.watcher.Pending
	}
	// What has more rights than who asks is not told what to find where: see
	// also bus.Settings.Helper.
	if p.d.busType != "system" {
		a.Update = p.setEnvironment
	}
	return a
}

func (p *programs) setEnvironment(set map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.update, set)
}

// start starts a service's program, and returns at once.
func (p *programs) start(s bus.Service, failed func(name, text string)) {
	e := s.Program.(catalog.Entry)
	helper := p.d.current.Load().helper
	argv, failure := activation.Command(e.Service, helper)
	if failure != nil {
		failed(failure.Name, failure.Message)
		return
	}
	if argv == nil {
		return // the name comes by itself
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	request := spawn.Request{Argv: argv, Env: activation.Environ(p.d.environ, p.update, activation.Bus{Address: p.d.address, Type: p.d.busType})}
	id, err := p.spawner.Start(request)
	if err != nil {
		f := activation.Failure(s.Name, helper != "", spawn.Event{Kind: spawn.Lost, Err: err})
		failed(f.Name, f.Message)
		return
	}
	p.running[id] = running{s.Name, helper != "", failed}
	p.d.log.Info("service started", slog.String("name", s.Name), slog.String("file", e.File))
}

// stop ends the program of a service whose name did not come in time.
func (p *programs) stop(s bus.Service) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var latest spawn.ID // an older one may have had the name, and run on
	for id, r := range p.running {
		if r.name == s.Name {
			latest = max(latest, id)
		}
	}
	if latest == 0 {
		return // it has ended by itself, or none was needed
	}
	if err := p.spawner.Kill(latest); err != nil {
		p.d.log.Warn("service runs on, and its name did not come", slog.String("name", s.Name), slog.Any("err", err))
	}
}

// refresh reads the service directories for somebody who waits for it.
func (p *programs) refresh(done func()) {
	go func() {
		p.rescan(context.Background(), nil)
		done()
	}()
}

// report hears what became of a program.
func (p *programs) report(e spawn.Event) {
	p.mu.Lock()
	r, known := p.running[e.ID]
	if e.Kind != spawn.Started {
		delete(p.running, e.ID)
	}
	p.mu.Unlock()
	if !known {
		return
	}
	if f := activation.Failure(r.name, r.helper, e); f != nil {
		r.failed(f.Name, f.Message)
	}
}

// changed reads anew what has changed: services at once, the configuration
// like on SIGHUP. It returns when that counts: until then a name that is not
// known may be known in a moment.
func (p *programs) changed(ctx context.Context, paths []string) {
	for _, path := range paths {
		if p.d.current.Load().files[path] {
			done := make(chan struct{})
			p.d.reloads.ask(func(error) { close(done) }) // it is logged
			select {
			case <-done:
			case <-ctx.Done(): // nobody reloads any more
			}
			return
		}
	}
	p.rescan(ctx, nil)
}

// rescan reads the service directories again, or with dirs others, and tells
// those who watch if that made a difference.
func (p *programs) rescan(ctx context.Context, dirs []catalog.Dir) {
	before := p.catalog.Snapshot()
	read := func(ctx context.Context) (*catalog.Snapshot, error) { return p.catalog.Reload(ctx, dirs) }
	if dirs == nil {
		read = p.catalog.Refresh
	}
	after, err := read(ctx)
	if err != nil {
		p.d.log.LogAttrs(ctx, slog.LevelWarn, "services not read again", slog.Any("err", err))
		return
	}
	if b := p.d.bus.Load(); after != before && b != nil {
		b.Post(b.ServicesChanged)
	}
}
