package daemon

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"quartet/services/busd/internal/busconf"
)

// reloads are the wishes that the configuration be read again.
type reloads struct {
	wake chan struct{} // something is in waiting

	mu      sync.Mutex
	waiting []func(error) // guarded by mu
}

// ask wants a reload that begins from now on, and done to be told how it went.
// Those who ask while one runs share the next.
func (r *reloads) ask(done func(error)) {
	r.mu.Lock()
	r.waiting = append(r.waiting, done)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *reloads) take() []func(error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting
	r.waiting = nil
	return waiting
}

// reload reloads when that is asked for, and on SIGHUP, until ctx ends.
func (d *daemon) reload(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		case <-d.reloads.wake:
		}
		waiting := d.reloads.take()
		d.tellReloading()
		err := d.reloadOnce(ctx)
		d.tellReloaded()
		if err != nil {
			d.log.LogAttrs(ctx, slog.LevelError, "configuration not read again, the old one stays", slog.Any("err", err))
		}
		for _, done := range waiting {
			done(err)
		}
	}
}

var errStopped = errors.New("the bus has stopped")

// reloadOnce replaces the configuration whole, or with a fault in it not at
// all. It returns when the bus goes by the new one.
func (d *daemon) reloadOnce(ctx context.Context) error {
	l, err := Load(d.options.Config)
	if err != nil {
		d.watchFault(err)
		return err
	}
	d.programs.rescan(ctx, l.Services)
	d.use(l)
	d.tellFixed(l.Config)
	b := d.bus.Load()
	if !b.Do(func() { b.Apply(l.Settings) }) {
		return errStopped
	}
	d.log.LogAttrs(ctx, slog.LevelInfo, "configuration read again", slog.Int("files", len(l.Config.Files)))
	return nil
}

// fixed are the elements by which a bus goes from its start to its end.
func (d *daemon) fixed(c *busconf.Config) map[string]string {
	all := map[string]string{"user": c.User, "type": c.Type, "syslog": strconv.FormatBool(c.Syslog)}
	if d.options.Address == "" {
		all["listen"] = strings.Join(c.Listen, " ")
	}
	if !d.options.NoPIDFile {
		all["pidfile"] = c.PIDFile
	}
	return all
}

// tellFixed says which elements of a new configuration wait for a restart, once
// as long as they stay so.
func (d *daemon) tellFixed(c *busconf.Config) {
	all := d.fixed(c)
	for element, now := range all {
		if now != d.started[element] && now != d.latest[element] {
			d.log.Warn("configuration: what changed here needs a restart", slog.String("element", element), slog.String("from", d.started[element]), slog.String("to", now))
		}
	}
	d.latest = all
}

// watchFault watches the file that a fault is in as well, which may be new here:
// when it is mended the configuration is read again.
func (d *daemon) watchFault(err error) {
	at, is := errors.AsType[*busconf.Error](err)
	if !is {
		return
	}
	file, err := filepath.Abs(at.File)
	now := *d.current.Load()
	if err != nil || now.files[file] {
		return
	}
	now.files = maps.Clone(now.files)
	now.files[file] = true
	now.watched = append(slices.Clip(now.watched), file)
	d.watch(&now)
}

func (d *daemon) watch(now *current) {
	d.current.Store(now)
	if w := d.programs.watcher; w != nil {
		if err := w.Set(now.watched); err != nil {
			d.log.Warn("some changes on disk are seen only on a reload", slog.Any("err", err))
		}
	}
}

// use keeps what is looked up in a configuration later, watches it, and says
// what in it has no effect.
func (d *daemon) use(l *Loaded) {
	now := &current{helper: l.Config.ServiceHelper, files: map[string]bool{}}
	for _, list := range [][]string{l.Config.Files, l.Config.Dirs, l.Config.Absent} {
		for _, name := range list {
			if name == standaloneName {
				continue
			}
			if absolute, err := filepath.Abs(name); err == nil {
				now.files[absolute] = true
				now.watched = append(now.watched, absolute)
			}
		}
	}
	if l.Settings.AtConsole != nil {
		now.files[theConsole.files] = true
		now.watched = append(now.watched, theConsole.files)
	}
	for _, dir := range l.Config.ServiceDirs {
		if !dir.Unwatched {
			now.watched = append(now.watched, dir.Path)
		}
	}
	d.watch(now)
	for _, w := range l.Warnings {
		if !slices.Contains(d.warned, w) { // every client may have it read again, and again
			d.log.Warn("configuration", slog.String("warning", w.String()))
		}
	}
	d.warned = l.Warnings
}
