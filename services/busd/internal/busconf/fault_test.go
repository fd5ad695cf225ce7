package busconf_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"quartet/services/busd/internal/busconf"
)

var update = flag.Bool("update", false, "rewrite the expected errors in testdata")

// faults.txt has files with one fault each, between lines of dashes, and below
// the second dash of each the error.
func TestFaults(t *testing.T) {
	const name = "testdata/faults.txt"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n====\n") {
		input, want, _ := strings.Cut(block, "\n----\n")
		_, err := busconf.Load("bus.conf", files{"bus.conf": input}.source())
		if err == nil {
			t.Errorf("loaded:\n%s", input)
			continue
		}
		got := err.Error()
		var at *busconf.Error
		if !errors.As(err, &at) || at.File != "bus.conf" {
			t.Errorf("error without position: %s", got)
		}
		if out.Len() > 0 {
			out.WriteString("\n====\n")
		}
		out.WriteString(input + "\n----\n" + got)
		if !*update && got != strings.TrimSpace(want) {
			t.Errorf("%s\ngot  %s\nwant %s", input, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(name, []byte(out.String()+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// CVE-2022-31213: empty elements crashed another reader of these files.
func TestEmptyElementIsAFault(t *testing.T) {
	for _, name := range []string{"type", "user", "pidfile", "listen", "auth", "servicedir", "servicehelper", "include", "includedir"} {
		for _, element := range []string{"<" + name + "/>", "<" + name + "> </" + name + ">"} {
			refused(t, files{"/etc/bus.conf": body(element)}, "/etc/bus.conf:3:", "<"+name+"> is empty")
		}
	}
}

func TestBusWithoutAddressIsAFault(t *testing.T) {
	refused(t, files{"/etc/bus.conf": "<busconfig/>"}, "/etc/bus.conf:", "<listen>")
}

// Debian's own files are the ones that must work.
func TestStockFilesLoad(t *testing.T) {
	for _, name := range []string{"/usr/share/dbus-1/session.conf", "/usr/share/dbus-1/system.conf"} {
		if _, err := os.Stat(name); err != nil {
			needed(t, err)
		}
		c, err := busconf.Load(name, machine())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.Warnings {
			t.Errorf("%s: %s", name, w)
		}
		if want := strings.TrimSuffix(filepath.Base(name), ".conf"); c.Type != want || len(c.Policies) == 0 || len(c.Auth) != 1 {
			t.Errorf("%s: type %q, %d policies, auth %q", name, c.Type, len(c.Policies), c.Auth)
		}
	}
}

// testFiles is where the reference implementation's own tests are installed.
const testFiles = "/usr/lib/dbus-1.0/installed-tests/dbus/data/"

func TestFilesThatTheReferenceRefusesAreRefused(t *testing.T) {
	for _, name := range installed(t, "invalid-config-files/*.conf") {
		if c, err := busconf.Load(name, machine()); err == nil {
			t.Errorf("%s loaded as %+v", name, c)
		}
	}
}

func TestFilesThatTheReferenceTakesAreTaken(t *testing.T) {
	for _, name := range append(installed(t, "valid-config-files/*.conf"), installed(t, "valid-config-files-system/*.conf")...) {
		if _, err := busconf.Load(name, machine()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesThatTheReferenceHoldsEquivalentAre(t *testing.T) {
	first := map[string]*busconf.Config{}
	for _, name := range installed(t, "equiv-config-files/*/*.conf") {
		c, err := busconf.Load(name, machine())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// Where they say it may differ, what they say may not.
		c.Files, c.Dirs, c.Absent = nil, nil, nil
		for i := range c.Policies {
			c.Policies[i].File, c.Policies[i].Line = "", 0
			for j := range c.Policies[i].Rules {
				c.Policies[i].Rules[j].File, c.Policies[i].Rules[j].Line = "", 0
			}
		}
		dir := filepath.Dir(name)
		if first[dir] == nil {
			first[dir] = c
		} else if !reflect.DeepEqual(first[dir], c) {
			t.Errorf("%s: got %+v, want %+v", name, c, first[dir])
		}
	}
}

func installed(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(testFiles + pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		needed(t, errors.New("package dbus-tests is not installed"))
	}
	return names
}

// needed skips the test where something is missing, but not in CI.
func needed(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// machine is the machine that the test runs on.
func machine() busconf.Source {
	return busconf.Source{
		Read: os.ReadFile,
		Dir: func(dir string) ([]string, error) {
			entries, err := os.ReadDir(dir)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return names, err
		},
		Missing: func(err error) bool { return errors.Is(err, os.ErrNotExist) },
		Getenv:  os.Getenv,
	}
}
