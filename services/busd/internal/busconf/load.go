package busconf

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"quartet/services/busd/internal/policy"
)

// Source is the machine as Load may see it. All of its functions are needed.
type Source struct {
	// Read is the content of a file.
	Read func(path string) ([]byte, error)
	// Dir are the names of the files in a directory, in any order.
	Dir func(path string) ([]string, error)
	// Missing says whether an error of Read or Dir means that there is no
	// such file.
	Missing func(error) bool
	// Getenv is used for <standard_session_servicedirs/>: XDG_RUNTIME_DIR,
	// XDG_DATA_HOME, XDG_DATA_DIRS, HOME.
	Getenv func(name string) string
	// SELinuxRoot is the directory of the SELinux policy; empty when SELinux
	// is off.
	SELinuxRoot string
}

// maxDepth is how deep files may include each other. Circles are found by
// name; the depth stops those that symbolic links hide under ever longer names.
const maxDepth = 32

// Load reads the configuration at file and all it includes. The error has the
// position of the fault (*Error).
func Load(file string, source Source) (*Config, error) {
	l := loader{source: source, grammar: newGrammar()}
	c := &Config{Limits: DefaultLimits()}
	if err := l.file(c, path.Clean(file)); err != nil {
		return nil, err
	}
	if len(c.Listen) == 0 {
		return nil, &Error{File: file, Err: errors.New("no <listen> element says where clients reach the bus: add one, for example <listen>unix:runtime=yes</listen>")}
	}
	return c, nil
}

type loader struct {
	source  Source
	grammar map[string]*kind
	open    []string // the files being read, outermost first
}

// file reads one file and what it includes, and merges it into c if it has no
// fault.
func (l *loader) file(c *Config, name string) error {
	if slices.Contains(l.open, name) {
		return &Error{File: name, Err: fmt.Errorf("includes itself: %s", strings.Join(append(slices.Clip(l.open), name), " > "))}
	}
	if len(l.open) == maxDepth {
		return &Error{File: name, Err: fmt.Errorf("more than %d files include each other", maxDepth)}
	}
	data, err := l.source.Read(name)
	if err != nil {
		return &Error{File: name, Err: &readError{err}}
	}
	l.open = append(l.open, name)
	defer func() { l.open = l.open[:len(l.open)-1] }()

	in := &Config{Limits: c.Limits, Security: Security{AppArmor: c.Security.AppArmor}, Files: []string{name}}
	p := parser{loader: l, config: in, file: name}
	if err := p.parse(data); err != nil {
		return err
	}
	c.merge(in)
	return nil
}

// readError marks that a file could not be read, apart from faults in it.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// missing is true when the error means that this very file is not there; not
// when one that it includes is missing.
func (l *loader) missing(err error, name string) bool {
	var at *Error
	if !errors.As(err, &at) || at.File != name {
		return false
	}
	reading, ok := at.Err.(*readError)
	return ok && l.source.Missing(reading.err)
}

// include is <include>; ignoreMissing excuses a file that is not there.
func (l *loader) include(c *Config, name string, ignoreMissing bool) error {
	err := l.file(c, name)
	if err != nil && ignoreMissing && l.missing(err, name) {
		c.Absent = append(c.Absent, name)
		return nil
	}
	return err
}

// includeDir is <includedir>: all files NAME.conf, sorted by name. One with a
// fault is left out with a warning; a directory that is not there has no files.
func (l *loader) includeDir(c *Config, dir string) error {
	names, err := l.source.Dir(dir)
	if err != nil {
		if l.source.Missing(err) {
			c.Absent = append(c.Absent, dir)
			return nil
		}
		return fmt.Errorf("read directory %s: %w", dir, err)
	}
	c.Dirs = append(c.Dirs, dir)
	names = slices.Clone(names)
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasSuffix(name, ".conf") {
			continue
		}
		file := path.Join(dir, name)
		err := l.include(c, file, true)
		if err == nil {
			continue
		}
		w := policy.Warning{File: file, Message: "left out: " + err.Error()}
		var at *Error
		if errors.As(err, &at) && at.File == file {
			w.Line, w.Message = at.Line, "left out: "+at.Err.Error()
		}
		c.Warnings = append(c.Warnings, w)
	}
	return nil
}
