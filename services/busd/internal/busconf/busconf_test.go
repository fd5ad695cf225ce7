package busconf_test

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/busconf"
)

// files are a machine's files by path.
type files map[string]string

func (f files) source() busconf.Source {
	return busconf.Source{
		Read: func(name string) ([]byte, error) {
			data, ok := f[name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(data), nil
		},
		Dir: func(dir string) ([]string, error) {
			var names []string
			for name := range maps.Keys(f) {
				if path.Dir(name) == dir {
					names = append(names, path.Base(name))
				}
			}
			if names == nil {
				return nil, fs.ErrNotExist
			}
			// The order of a directory is anything: the reverse is one.
			slices.Sort(names)
			slices.Reverse(names)
			return names, nil
		},
		Missing: func(err error) bool { return errors.Is(err, fs.ErrNotExist) },
		Getenv:  func(string) string { return "" },
	}
}

// body is a file with an address to listen on, followed by the elements.
func body(elements string) string {
	return "<busconfig>\n<listen>unix:path=/x</listen>\n" + elements + "\n</busconfig>\n"
}

func load(t *testing.T, f files) *busconf.Config {
	t.Helper()
	c, err := busconf.Load("/etc/bus.conf", f.source())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// config loads one file with the elements.
func config(t *testing.T, elements string) *busconf.Config {
	t.Helper()
	return load(t, files{"/etc/bus.conf": body(elements)})
}

// refused checks that the files do not load and where the fault is said to be.
func refused(t *testing.T, f files, want ...string) {
	t.Helper()
	_, err := busconf.Load("/etc/bus.conf", f.source())
	if err == nil {
		t.Fatalf("loaded; want an error with %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q lacks %q", err, w)
		}
	}
	var at *busconf.Error
	if !errors.As(err, &at) {
		t.Errorf("error %v has no position", err)
	}
}
