package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"quartet/services/busd/internal/address"
	"quartet/services/busd/internal/listen"
)

// newGUID is the identity of this run of the bus.
func newGUID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // it never fails
	return hex.EncodeToString(raw[:])
}

// machineID is the identity of the machine, "" where it has none.
func machineID() string {
	for _, file := range []string{"/var/lib/dbus/machine-id", "/etc/machine-id"} {
		text, err := os.ReadFile(file)
		if id := strings.TrimSpace(string(text)); err == nil && len(id) == 32 {
			return id
		}
	}
	return ""
}

// open opens all sockets, and makes the address that clients are told: that of
// all of them, the last <listen> first, with the GUID.
func (d *daemon) open(ctx context.Context, guid string) (all []*listen.Listener, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	wanted := d.loaded.Config.Listen
	if d.options.Address != "" {
		wanted = []string{d.options.Address}
	}
	o := listen.Options{Getenv: os.Getenv, PID: d.listenPID}
	for _, list := range wanted {
		entries, err := address.Parse(list)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		opened, err := listen.OpenFirst(ctx, entries, o)
		if err != nil {
			closeAll(all)
			return nil, err
		}
		var told []string
		for i, l := range opened {
			if i == 0 || l.Address != opened[i-1].Address { // the same for several IP addresses of a host
				told = append(told, l.Address+guidKey(l.Address)+guid)
			}
		}
		if d.address != "" {
			told = append(told, d.address)
		}
		d.address = strings.Join(told, ";")
		all = append(all, opened...)
	}
	return all, nil
}

// guidKey joins a guid to an address, which may have no key before it.
func guidKey(address string) string {
	if strings.HasSuffix(address, ":") {
		return "guid="
	}
	return ",guid="
}

func closeAll(listeners []*listen.Listener) {
	for _, l := range listeners {
		_ = l.Close() // what failed before is what matters
	}
}

// writePIDFile writes the pid file, if there is to be one. One that exists is
// another bus's, or was left behind, which only people can tell.
func (d *daemon) writePIDFile() error {
	name := d.loaded.Config.PIDFile
	if name == "" || d.options.NoPIDFile {
		return nil
	}
	// A bus in the background goes to / once it is ready, and has to find the file
	// again. dbus-daemon goes there first, and takes a relative one from there.
	name, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("write the pid file: %w", err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the pid file %q exists: if no bus runs, remove it", name)
	}
	if err != nil {
		return fmt.Errorf("write the pid file: %w", err)
	}
	d.undo = append(d.undo, func() {
		if err := os.Remove(name); err != nil {
			d.log.Warn("pid file not removed", slog.Any("err", err))
		}
	})
	_, err = fmt.Fprintln(f, os.Getpid())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the pid file: %w", err)
	}
	return nil
}

// identity is whom this process is.
type identity struct {
	uid        uint32
	name, home string
}

func self() identity {
	who := identity{uid: uint32(os.Geteuid()), home: os.Getenv("HOME")}
	if u, err := user.LookupId(fmt.Sprint(who.uid)); err == nil {
		who.name, who.home = u.Username, u.HomeDir
	}
	return who
}
