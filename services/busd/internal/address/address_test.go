package address_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"quartet/services/busd/internal/address"
)

// entry is an address of pairs of key and value.
func entry(transport string, pairs ...string) address.Address {
	a := address.Address{Transport: transport}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		a.Params = append(a.Params, address.Param{Key: pairs[0], Value: pairs[1]})
	}
	return a
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		list string
		want []address.Address
	}{
		{"unix:path=/tmp/bus", []address.Address{entry("unix", "path", "/tmp/bus")}},
		{"systemd:", []address.Address{entry("systemd")}},
		{"tcp:host=localhost,port=0,family=ipv4", []address.Address{entry("tcp", "host", "localhost", "port", "0", "family", "ipv4")}},
		{"unix:runtime=yes;unix:tmpdir=/tmp", []address.Address{entry("unix", "runtime", "yes"), entry("unix", "tmpdir", "/tmp")}},
		{"unix:path=/tmp/bus,;systemd:", []address.Address{entry("unix", "path", "/tmp/bus"), entry("systemd")}},
		{"unix:path=/tmp/bus;", []address.Address{entry("unix", "path", "/tmp/bus")}},
		{"unix:abstract=%00%ff%3b%2C%20", []address.Address{entry("unix", "abstract", "\x00\xff;, ")}},
		{`unix:path=-09AZaz_/.\*`, []address.Address{entry("unix", "path", `-09AZaz_/.\*`)}},
		{"unix:path=%2f%74%6D%70", []address.Address{entry("unix", "path", "/tmp")}},
		{"unix:path=/a:b=c", nil}, // both would have to be escaped
		{"cat:purr=loud,guid=0123456789abcdef0123456789abcdef", []address.Address{entry("cat", "purr", "loud", "guid", "0123456789abcdef0123456789abcdef")}},
	} {
		got, err := address.Parse(test.list)
		if !reflect.DeepEqual(got, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("Parse(%q) = %v, %v, want %v", test.list, got, err, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, list := range map[string]string{
		"nothing":               "",
		"only a semicolon":      ";",
		"an empty entry":        "unix:path=/a;;unix:path=/b",
		"an empty first entry":  ";unix:path=/a",
		"two at the end":        "unix:path=/a;;",
		"no colon":              "unix",
		"no colon in second":    "unix:path=/a;unix",
		"no transport":          ":path=/a",
		"a key alone":           "unix:path",
		"a key alone, second":   "unix:path=/a,guid",
		"an empty value":        "unix:path=",
		"an empty key":          "unix:=/a",
		"only an equals sign":   "unix:=",
		"commas at the end":     "unix:path=/a,,",
		"only a comma":          "unix:,",
		"a comma at the start":  "unix:,path=/a",
		"a key twice":           "unix:path=/a,path=/b",
		"a bare percent sign":   "unix:path=/a%",
		"one digit":             "unix:path=/a%2",
		"one digit and more":    "unix:path=/a%2,guid=1",
		"no digits":             "unix:path=/a%zz",
		"a sign":                "unix:path=/a%+1",
		"a space":               "unix:path=/a b",
		"a tilde":               "unix:path=/a~",
		"an equals sign":        "unix:path=a=b",
		"a colon":               "tcp:host=::1",
		"a byte beyond ASCII":   "unix:path=/k\xc3\xa4",
		"a NUL":                 "unix:path=/a\x00",
		"a line end":            "unix:path=/a\n",
		"a good one before bad": "unix:path=/a;tcp:port",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := address.Parse(list)
			if e := (*address.Error)(nil); got != nil || !errors.As(err, &e) || e.Reason == "" {
				t.Errorf("Parse(%q) = %v, %v, want an *Error", list, got, err)
			}
		})
	}
}

func TestErrorNamesItsEntry(t *testing.T) {
	_, err := address.Parse("unix:path=/a;tcp:port=%")
	if err == nil || !strings.Contains(err.Error(), `"tcp:port=%"`) || strings.Contains(err.Error(), "/a") {
		t.Errorf("error %v", err)
	}
}

// The hex value must always be two digits, even if the first is zero.
func TestEscapeHasTwoDigits(t *testing.T) {
	if got := address.Escape("\x01 ~\xff"); got != "%01%20%7e%ff" {
		t.Errorf("Escape = %q", got)
	}
}

func TestEveryByteComesBack(t *testing.T) {
	for c := range 256 {
		value := string([]byte{byte(c)})
		escaped := address.Escape(value)
		if got, err := address.Unescape(escaped); err != nil || got != value {
			t.Errorf("byte %#02x is escaped as %q and comes back as %q, %v", c, escaped, got, err)
		}
		if _, err := address.Unescape(value); (err == nil) != (escaped == value) {
			t.Errorf("byte %#02x, escaped as %q, is read as it is: %v", c, escaped, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"unix:path=/tmp/dbus-test", "unix:path=/tmp/dbus-test;unix:path=/tmp/dbus-test2", "unix:abstract=%00a%fF",
		"tcp:host=127.0.0.1,port=30958,family=ipv4", "nonce-tcp:host=localhost,port=1,noncefile=/tmp/n%20once",
		"systemd:", "unix:runtime=yes;", "unix:path=", ":", ";", "a:b=%", `x:y=\*`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		all, err := address.Parse(list)
		if err != nil {
			if e := (*address.Error)(nil); all != nil || !errors.As(err, &e) {
				t.Fatalf("Parse(%q) = %v, %v", list, all, err)
			}
			return
		}
		var texts []string
		for _, a := range all {
			texts = append(texts, a.String())
			for _, p := range a.Params {
				if got, found := a.Get(p.Key); !found || got != p.Value || p.Value == "" {
					t.Fatalf("Get(%q) = %q, %t", p.Key, got, found)
				}
			}
		}
		again, err := address.Parse(strings.Join(texts, ";"))
		if err != nil || !reflect.DeepEqual(again, all) {
			t.Fatalf("%q is written as %q and read back as %v, %v", list, texts, again, err)
		}
	})
}
