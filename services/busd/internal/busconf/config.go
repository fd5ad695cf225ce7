// Package busconf reads configuration files of dbus-daemon(1): <busconfig>
// and everything below it, with the files that they include.
//
// The stages: Load reads the first file and follows <include> and <includedir>
// (load.go); each file is parsed against a grammar of elements (file.go,
// element.go); what they say is merged in the order of appearance, so that a
// later file overrides and adds (config.go). Service directories are in
// servicedir.go, limits in limits.go. Rules are parsed by package policy.
//
// The guarantee: what a file says is understood whole or refused with file and
// line; nothing is skipped silently. Files and the environment are reached
// only through the Source that the caller passes, so the package is pure.
package busconf

import (
	"fmt"
	"slices"

	"quartet/services/busd/internal/policy"
)

// Config is a bus as configured, all included files merged.
type Config struct {
	// Type is "session", "system" or something else; empty when not given.
	Type string
	// User is whom the bus becomes after start, by name or number; empty for
	// no change.
	User          string
	PIDFile       string
	ServiceHelper string
	// The elements without content: true when present anywhere.
	Fork, KeepUmask, Syslog, AllowAnonymous bool

	// Listen are the addresses in the order of the files. The last one comes
	// first in what the bus tells others.
	Listen []string
	// Auth are the allowed mechanisms; none means all.
	Auth        []string
	ServiceDirs []ServiceDir
	Limits      Limits
	Policies    []policy.Section
	Security    Security

	// Files were read and Dirs are included directories that exist; Absent are
	// what was to be included and need not be there: a change there is a reason
	// to reload.
	Files, Dirs, Absent []string
	// Warnings tell of files of an <includedir> that were left out because of
	// a fault. One broken package does not stop the bus of the whole system.
	Warnings []policy.Warning
}

// Security is what the file says to security modules of the kernel.
type Security struct {
	Associations []Association
	AppArmor     AppArmor
}

// Association gives a bus name a SELinux context. Of several for one name the
// last counts.
type Association struct{ Own, Context string }

// AppArmor is the mode of mediation; the zero value is the default, enabled.
type AppArmor uint8

// The modes of <apparmor mode=…>.
const (
	AppArmorEnabled AppArmor = iota
	AppArmorDisabled
	AppArmorRequired
)

// Error is a fault in a configuration file.
type Error struct {
	File string
	// Line counts from 1; 0 when the file as a whole is meant.
	Line int
	Err  error
}

// Error is the fault as file:line: reason.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// merge adds what an included file says.
func (c *Config) merge(in *Config) {
	override(&c.Type, in.Type)
	override(&c.User, in.User)
	override(&c.PIDFile, in.PIDFile)
	override(&c.ServiceHelper, in.ServiceHelper)
	c.Fork = c.Fork || in.Fork
	c.KeepUmask = c.KeepUmask || in.KeepUmask
	c.Syslog = c.Syslog || in.Syslog
	c.AllowAnonymous = c.AllowAnonymous || in.AllowAnonymous
	c.Listen = append(c.Listen, in.Listen...)
	c.Auth = append(c.Auth, in.Auth...)
	for _, d := range in.ServiceDirs {
		c.addServiceDir(d)
	}
	// The included file began with the limits and the mode so far.
	c.Limits = in.Limits
	c.Security.AppArmor = in.Security.AppArmor
	c.Security.Associations = append(c.Security.Associations, in.Security.Associations...)
	c.Policies = append(c.Policies, in.Policies...)
	c.Files = append(c.Files, in.Files...)
	c.Dirs = append(c.Dirs, in.Dirs...)
	c.Absent = append(c.Absent, in.Absent...)
	c.Warnings = append(c.Warnings, in.Warnings...)
}

func override(s *string, by string) {
	if by != "" {
		*s = by
	}
}

// addServiceDir appends d unless an earlier entry, which wins, is the same.
func (c *Config) addServiceDir(d ServiceDir) {
	if !slices.Contains(c.ServiceDirs, d) {
		c.ServiceDirs = append(c.ServiceDirs, d)
	}
}
