package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"

	"quartet/services/busd/internal/address"
	"quartet/services/busd/internal/bus"
	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/catalog"
	"quartet/services/busd/internal/listen"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/sasl"
)

// Loaded is a configuration and what it means on this machine.
type Loaded struct {
	Config   *busconf.Config
	Settings bus.Settings
	Services []catalog.Dir
	Warnings []policy.Warning
}

// Load reads a configuration file, or with "" the built-in one, and asks the
// machine for what it names: users, groups, who sits at the console. It may
// take long. The error says in which line the fault is, or what the bus cannot
// keep of what the file demands.
func Load(file string) (*Loaded, error) {
	name := file
	if name == "" {
		name = standaloneName
	}
	config, err := busconf.Load(name, source())
	if err != nil {
		return nil, err
	}
	if err := keepable(config); err != nil {
		return nil, err
	}
	mechanisms, more := mechanisms(config.Auth)
	if mechanisms == (sasl.Mechanisms{}) {
		return nil, fmt.Errorf("<auth>: nobody could connect: busd has EXTERNAL, DBUS_COOKIE_SHA1 and ANONYMOUS, and the file allows only %s", strings.Join(config.Auth, ", "))
	}
	set, warnings, err := compile(config.Policies)
	if err != nil {
		return nil, err
	}
	return &Loaded{
		Config: config,
		Settings: bus.Settings{
			Limits:         config.Limits,
			Policy:         set,
			Mechanisms:     mechanisms,
			AllowAnonymous: config.AllowAnonymous,
			AtConsole:      atConsole(config.Policies),
			Helper:         config.ServiceHelper != "",
			SELinux:        selinuxRoot() != "",
		},
		Services: serviceDirs(config),
		Warnings: slices.Concat(config.Warnings, warnings, more),
	}, nil
}

// Faults are what keeps a bus from starting here with this configuration, as
// far as that can be told without one.
func (l *Loaded) Faults() (faults []error) {
	for _, list := range l.Config.Listen {
		entries, err := address.Parse(list)
		if err == nil {
			err = listen.CheckFirst(entries)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("<listen>: %w", err))
		}
	}
	if l.Config.User != "" {
		if _, err := lookUp(l.Config.User); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// UID is the user as whom the bus runs.
func (l *Loaded) UID() (uint32, error) {
	if l.Config.User == "" {
		return uint32(os.Geteuid()), nil
	}
	u, err := lookUp(l.Config.User)
	if err != nil {
		return 0, err
	}
	uid, ok := number(u.Uid)
	if !ok {
		return 0, fmt.Errorf("<user>%s</user>: its id is %q", l.Config.User, u.Uid)
	}
	return uid, nil
}

// source is this machine, and the built-in configuration.
func source() busconf.Source {
	return busconf.Source{
		Read: func(name string) ([]byte, error) {
			if name == standaloneName {
				return []byte(standalone), nil
			}
			text, err := os.ReadFile(name)
			return bytes.TrimPrefix(text, byteOrderMark), withoutPath(err)
		},
		Dir: func(name string) ([]string, error) {
			entries, err := os.ReadDir(name)
			names := make([]string, len(entries))
			for i, e := range entries {
				names[i] = e.Name()
			}
			return names, withoutPath(err)
		},
		Missing:     func(err error) bool { return errors.Is(err, fs.ErrNotExist) },
		Getenv:      os.Getenv,
		SELinuxRoot: selinuxRoot(),
	}
}

// byteOrderMark may be before the text of a file; it is no part of the text.
var byteOrderMark = []byte("\ufeff")

// withoutPath takes the file's name out of an error that is to be told after
// that name.
func withoutPath(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err
	}
	return err
}

// keepable refuses what busd could only pretend to do. It asks no security
// module whether a message may pass.
func keepable(c *busconf.Config) error {
	if c.Security.AppArmor == busconf.AppArmorRequired {
		return errors.New(`<apparmor mode="required"/> cannot be kept: busd does not ask AppArmor about messages. Use dbus-daemon, or mode="enabled"`)
	}
	if len(c.Security.Associations) > 0 && selinuxRoot() != "" {
		return fmt.Errorf("<selinux><associate own=%q …/> cannot be kept: SELinux is on, and busd does not ask it about names. Use dbus-daemon, or remove the element", c.Security.Associations[0].Own)
	}
	return nil
}

// selinuxRoot is the folder of the SELinux policy, "" where SELinux is off.
func selinuxRoot() string {
	if _, err := os.Stat("/sys/fs/selinux/enforce"); err != nil {
		return ""
	}
	text, err := os.ReadFile("/etc/selinux/config")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if kind, is := strings.CutPrefix(strings.TrimSpace(line), "SELINUXTYPE="); is {
			return path.Join("/etc/selinux", kind)
		}
	}
	return ""
}

// compile asks the machine for the users and groups of policies. One that is not
// there has no effect and is warned of. That none can be looked up now, as
// without file descriptors, is an error: rules that forbid something would be
// left out.
func compile(sections []policy.Section) (*policy.Set, []policy.Warning, error) {
	var failed error
	by := func(look func(string) (uint32, bool, error)) func(string) (uint32, bool) {
		return func(name string) (uint32, bool) {
			id, known, err := look(name)
			if err != nil && failed == nil {
				failed = fmt.Errorf("look up %q of a <policy>: %w", name, err)
			}
			return id, known
		}
	}
	set, warnings := policy.Compile(sections, policy.Resolver{User: by(userID), Group: by(groupID)})
	return set, warnings, failed
}

// lookUpUser and lookUpGroup are variables for tests.
var (
	lookUpUser  = user.Lookup
	lookUpGroup = user.LookupGroup
)

func userID(name string) (id uint32, known bool, err error) {
	u, err := lookUpUser(name)
	if _, unknown := errors.AsType[user.UnknownUserError](err); unknown || errors.Is(err, fs.ErrNotExist) { // no /etc/passwd
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	id, known = number(u.Uid)
	return id, known, nil
}

func groupID(name string) (id uint32, known bool, err error) {
	g, err := lookUpGroup(name)
	if _, unknown := errors.AsType[user.UnknownGroupError](err); unknown || errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	id, known = number(g.Gid)
	return id, known, nil
}

func number(id string) (uint32, bool) {
	n, err := strconv.ParseUint(id, 10, 32)
	return uint32(n), err == nil
}

// mechanisms are those of <auth>; without one, all.
func mechanisms(auth []string) (m sasl.Mechanisms, warnings []policy.Warning) {
	if len(auth) == 0 {
		return sasl.Mechanisms{External: true, Anonymous: true, CookieSHA1: true}, nil
	}
	for _, name := range auth {
		switch name {
		case sasl.External:
			m.External = true
		case sasl.Anonymous:
			m.Anonymous = true
		case sasl.CookieSHA1:
			m.CookieSHA1 = true
		default:
			warnings = append(warnings, policy.Warning{File: "<auth>", Message: fmt.Sprintf("%q is no mechanism of busd: EXTERNAL, DBUS_COOKIE_SHA1 and ANONYMOUS are", name)})
		}
	}
	return m, warnings
}

// atConsole says who sits at the console, if a policy asks for it.
func atConsole(sections []policy.Section) func(uint32) bool {
	asks := func(s policy.Section) bool { return s.Context == policy.AtConsole || s.Context == policy.NotAtConsole }
	if !slices.ContainsFunc(sections, asks) {
		return nil
	}
	return theConsole.who()
}

// serviceDirs are the directories of .service files, and how strict they are
// about their names: the setuid helper finds a service by the name of its file.
func serviceDirs(c *busconf.Config) []catalog.Dir {
	dirs := make([]catalog.Dir, len(c.ServiceDirs))
	for i, d := range c.ServiceDirs {
		dirs[i].Path = d.Path
		switch {
		case d.Strict:
			dirs[i].Naming = catalog.StrictName
		case c.ServiceHelper != "":
			dirs[i].Naming = catalog.WarnName
		}
	}
	return dirs
}
