// Package catalog knows which names can be activated: it reads the service
// directories of a bus into a snapshot (name to service) that is replaced as
// a whole, and watches files and directories for changes.
//
// Snapshots are for the bus thread, which never waits for a disk. Refresh
// and the Watcher are for ordinary goroutines.
package catalog

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"

	"quartet/services/busd/internal/service"
)

// Naming says what becomes of a file that is not called NAME.service.
type Naming uint8

// The ways to name files, from lenient to strict.
const (
	AnyName    Naming = iota // it counts: session directories
	WarnName                 // it counts, but the setuid helper, which looks up names by file, won't find it
	StrictName               // it doesn't count: transient directories
)

// Dir is one service directory. It may be missing, and appear later.
type Dir struct {
	Path   string
	Naming Naming
}

// Options is what a catalog is made of.
type Options struct {
	// Dirs are in order of precedence: a name in an earlier one hides it in
	// all later ones.
	Dirs []Dir
	Log  *slog.Logger
}

// Entry is a service and the file that says so.
type Entry struct {
	service.Service
	File string
}

// Snapshot is what could be activated at some moment. It never changes.
type Snapshot struct {
	entries map[string]Entry
	names   []string
}

// Lookup finds the service that provides a name.
func (s *Snapshot) Lookup(name string) (Entry, bool) {
	e, found := s.entries[name]
	return e, found
}

// Names are all names, sorted. They are not the caller's to change.
func (s *Snapshot) Names() []string { return s.names }

// Catalog keeps the snapshot up to date.
type Catalog struct {
	log     *slog.Logger
	current atomic.Pointer[Snapshot]
	begun   atomic.Uint64 // scans begun so far

	turn chan struct{}      // holds a token while a scan runs
	dirs []Dir              // owned by the holder of turn
	read map[string]listing // by directory; owned by the holder of turn
}

// New reads the directories and returns the catalog. What can't be read is
// logged; a bus with no services is still a bus.
func New(o Options) *Catalog {
	c := &Catalog{
		log:  o.Log,
		turn: make(chan struct{}, 1),
		dirs: slices.Clone(o.Dirs),
		read: make(map[string]listing),
	}
	c.current.Store(&Snapshot{})
	c.scan(context.Background())
	return c
}

// Snapshot is the newest one. It never waits.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// Refresh looks at the directories again, and returns a snapshot that has
// all that was in them when Refresh was called. It is the same pointer as
// before when nothing changed. Files that look unchanged are not read again,
// and callers that come while a scan runs share the next one, so it may be
// called for every request that would be refused.
// The error is the cause of ctx, when that ends the wait for another's scan.
func (c *Catalog) Refresh(ctx context.Context) (*Snapshot, error) {
	before := c.begun.Load()
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	if c.begun.Load() == before {
		c.scan(ctx)
	}
	return c.current.Load(), nil
}

// Reload replaces the list of directories and reads them. What is known of
// directories that stay is kept.
func (c *Catalog) Reload(ctx context.Context, dirs []Dir) (*Snapshot, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	c.dirs = slices.Clone(dirs)
	maps.DeleteFunc(c.read, func(path string, _ listing) bool {
		return !slices.ContainsFunc(dirs, func(d Dir) bool { return d.Path == path })
	})
	c.scan(ctx)
	return c.current.Load(), nil
}

func (c *Catalog) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Catalog) give() { <-c.turn }

// scan reads all directories and stores a new snapshot if it differs. Only
// the holder of turn may call it.
func (c *Catalog) scan(ctx context.Context) {
	c.begun.Add(1)
	entries := make(map[string]Entry)
	for _, dir := range c.dirs {
		known := c.list(ctx, dir.Path)
		for _, r := range known.inOrder() {
			if r.service.Name == "" {
				continue
			}
			if _, hidden := entries[r.service.Name]; !hidden && c.accept(ctx, dir, r) {
				entries[r.service.Name] = Entry{Service: r.service, File: r.path}
			}
		}
	}
	if maps.Equal(entries, c.current.Load().entries) {
		return
	}
	c.current.Store(&Snapshot{entries: entries, names: slices.Sorted(maps.Keys(entries))})
}

// accept judges the name of a file by the rules of its directory.
func (c *Catalog) accept(ctx context.Context, dir Dir, r *record) bool {
	if dir.Naming == AnyName || r.canonical() {
		return true
	}
	if !r.misnamed {
		r.misnamed = true
		consequence := "the setuid helper does not find it"
		if dir.Naming == StrictName {
			consequence = "it is not used"
		}
		c.log.LogAttrs(ctx, slog.LevelWarn, "service file has the wrong name",
			slog.String("file", r.path), slog.String("expected", r.service.FileName()), slog.String("consequence", consequence))
	}
	return dir.Naming == WarnName
}
