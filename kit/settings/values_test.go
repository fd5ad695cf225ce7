package settings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quartet/kit/settings"
)

func TestSecondsAreReadInBothForms(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "60": time.Minute, "1.5": 1500 * time.Millisecond, ".5": 500 * time.Millisecond, "15s": 15 * time.Second,
		"1m30s": 90 * time.Second, "250ms": 250 * time.Millisecond, "0s": 0, "9223372036": 9223372036 * time.Second,
	} {
		var s settings.Seconds
		if err := s.UnmarshalText([]byte(text)); err != nil || time.Duration(s) != want {
			t.Errorf("%q = %v, %v, want %v", text, s, err, want)
		}
	}
	for _, text := range []string{"", "-1", "-1s", "-1ns", "15x", "1m30", "ten", "1,5", "inf", "NaN", "1e3", "0x10", " 5", "5 s", ".", "1.2.3",
		"9223372037", "2562048h"} {
		s := settings.Seconds(7)
		if err := s.UnmarshalText([]byte(text)); err == nil || s != 7 {
			t.Errorf("%q = %v, %v, want an error and no change", text, s, err)
		}
	}
}

func TestBytesAreReadWithUnits(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "512B": 512, "16MiB": 16 << 20, "16mib": 16 << 20, "16 MiB": 16 << 20, "1KiB": 1024, "1kB": 1000, "2GB": 2e9,
		"8GiB": 8 << 30, "3TB": 3e12, "1TiB": 1 << 40, "8589934592": 8589934592, "9223372036854775807": math.MaxInt64, "8388607TiB": 8388607 << 40,
	} {
		var b settings.Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || int64(b) != want {
			t.Errorf("%q = %d, %v, want %d", text, int64(b), err, want)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1.5GiB", "16M", "16K", "1PiB", "MiB", "B", "1 6", "0x10", "1e6", "1MiBs", "1Mi B",
		"9223372036854775808", "8388608TiB", "99999999999999999999"} {
		b := settings.Bytes(7)
		if err := b.UnmarshalText([]byte(text)); err == nil || b != 7 {
			t.Errorf("%q = %d, %v, want an error and no change", text, int64(b), err)
		}
	}
}

func TestHostPortIsSomewhereToListen(t *testing.T) {
	for _, text := range []string{"127.0.0.1:9101", ":9101", "localhost:0", "[::1]:80", "[fe80::1%eth0]:80", "simweb:http"} {
		var h settings.HostPort
		if err := h.UnmarshalText([]byte(text)); err != nil || string(h) != text {
			t.Errorf("%q = %q, %v", text, h, err)
		}
	}
	for _, text := range []string{"", ":", "9101", "127.0.0.1", "127.0.0.1:", "[]:80", "::1:80", "a:b:80", "http://simweb:80", "http://simweb:80/", " simweb:80", "sim web:80"} {
		h := settings.HostPort("x:7")
		if err := h.UnmarshalText([]byte(text)); err == nil || h != "x:7" {
			t.Errorf("%q = %q, %v, want an error and no change", text, h, err)
		}
	}
}

func FuzzSeconds(f *testing.F) {
	for _, text := range []string{"0", "60", "1.5", "1m30s", "-1", "15x", "9223372037", "1h2m3.004s", "µs", "."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s settings.Seconds
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		if s < 0 {
			t.Fatalf("%q is negative: %v", text, s)
		}
		var again settings.Seconds
		if err := again.UnmarshalText([]byte(s.String())); err != nil || again != s {
			t.Fatalf("%q = %v, which reads as %v, %v", text, s, again, err)
		}
	})
}

func FuzzBytes(f *testing.F) {
	for _, text := range []string{"0", "1", "16MiB", "2 GB", "8388608TiB", "-1", "1K", "9223372036854775807", "12\u0660", "1kb"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b settings.Bytes
		if b.UnmarshalText([]byte(text)) != nil {
			return
		}
		if b < 0 {
			t.Fatalf("%q is negative: %d", text, int64(b))
		}
		var again settings.Bytes
		if err := again.UnmarshalText([]byte(b.String())); err != nil || again != b {
			t.Fatalf("%q = %v, which reads as %d, %v", text, b, int64(again), err)
		}
	})
}

const hunter = "hunter2"

func secretFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretIsReadFromItsFile(t *testing.T) {
	for content, want := range map[string]string{
		hunter: hunter, hunter + "\n": hunter, hunter + "\r\n": hunter, hunter + "\n\n": hunter,
		" " + hunter + " \n": " " + hunter + " ", "two\nlines\n": "two\nlines",
	} {
		c, err := parse("BOTD_NUMBER=1", "BOTD_KEY_FILE="+secretFile(t, content))
		if err != nil || string(c.Key) != want {
			t.Errorf("file %q: secret %q, %v, want %q", content, string(c.Key), err, want)
		}
	}
}

func TestFaultOfASecretShowsNothingOfIt(t *testing.T) {
	const want = "BOTD_KEY_FILE: want the path of a file that holds the secret: "
	for name, test := range map[string]struct{ path, reason string }{
		"the secret itself": {hunter, "no such file or directory"},
		"a folder":          {t.TempDir(), "is a directory"},
		"an empty file":     {secretFile(t, "\n"), "the file is empty"},
		"a huge file":       {secretFile(t, strings.Repeat(hunter, 10_000)), "the file is longer than 64 KiB"},
	} {
		_, err := parse("BOTD_NUMBER=1", "BOTD_KEY_FILE="+test.path)
		if err == nil || err.Error() != want+test.reason {
			t.Errorf("%s: error = %v, want %s%s", name, err, want, test.reason)
		}
	}
}

func TestSecretNeverPrints(t *testing.T) {
	c := struct {
		Key settings.Secret
		All map[string]settings.Secret
	}{hunter, map[string]settings.Secret{"k": hunter}}
	var out bytes.Buffer
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%X", "%d", "%t", "%20s", "%.2s", "%T"} {
		fmt.Fprintf(&out, verb+"\n", c.Key)
		fmt.Fprintf(&out, verb+"\n", &c)
		fmt.Fprintf(&out, verb+"\n", []settings.Secret{c.Key})
	}
	fmt.Fprintln(&out, c, c.Key)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("config", "key", c.Key, "config", c, slog.Any("pointer", &c))
	}
	if err := json.NewEncoder(&out).Encode(c); err != nil {
		t.Fatal(err)
	}
	for _, leak := range []string{hunter, fmt.Sprintf("%x", hunter), fmt.Sprintf("%X", hunter)} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q is in the output:\n%s", leak, out.String())
		}
	}
	if n := strings.Count(out.String(), "[redacted]"); n < 20 {
		t.Errorf("[redacted] appears %d times only:\n%s", n, out.String())
	}
}

func TestSecretShowsThatThereIsNone(t *testing.T) {
	if got := fmt.Sprintf("%s|%v", settings.Secret(""), settings.Secret("x")); got != "|[redacted]" {
		t.Errorf("printed %q", got)
	}
}
