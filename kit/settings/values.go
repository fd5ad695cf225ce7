package settings

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Seconds is a duration that is never negative. A bare number is seconds, with
// or without a fraction; else it is written as Go writes durations: 90, 1.5,
// 1m30s, 250ms. Use it as time.Duration(s).
type Seconds time.Duration

// UnmarshalText reads either form.
func (s *Seconds) UnmarshalText(text []byte) error {
	written := string(text)
	if strings.Trim(written, "0123456789.") == "" {
		written += "s"
	}
	d, err := time.ParseDuration(written)
	if err != nil {
		return fmt.Errorf("%q is no duration", text)
	}
	if d < 0 {
		return fmt.Errorf("%q is negative", text)
	}
	*s = Seconds(d)
	return nil
}

func (s Seconds) String() string { return time.Duration(s).String() }

// Bytes is a size in bytes, never negative. A bare number is bytes; units are
// KiB, MiB, GiB, TiB (powers of 1024), kB, MB, GB, TB (powers of 1000) and B,
// in any case. A K or M alone is refused, because it could mean either.
type Bytes int64

// units are ordered so that String finds the largest that fits first.
var units = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3},
	{"B", 1}, {"", 1},
}

// UnmarshalText reads a whole number with or without a unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	digits := strings.TrimRightFunc(string(text), func(r rune) bool { return r < '0' || r > '9' })
	unit := strings.TrimSpace(string(text)[len(digits):])
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return fmt.Errorf("%q is no size in bytes", text)
	}
	for _, u := range units {
		if !strings.EqualFold(u.name, unit) {
			continue
		}
		if int64(n) > math.MaxInt64/u.size {
			return fmt.Errorf("%q is too large", text)
		}
		*b = Bytes(int64(n) * u.size)
		return nil
	}
	return fmt.Errorf("%q has no unit of bytes", text)
}

// String writes b exactly, in the largest binary unit that divides it.
func (b Bytes) String() string {
	for _, u := range units[:4] {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// HostPort is where to listen: host:port, or :port for every host. Use it as
// string(h).
type HostPort string

// UnmarshalText takes a host or an address and a port. Whether there are such, only
// listening shows.
func (h *HostPort) UnmarshalText(text []byte) error {
	written := string(text)
	host, port, err := net.SplitHostPort(written)
	if err != nil || port == "" || host == "" && written[0] != ':' || strings.ContainsAny(host, "/ ") {
		return fmt.Errorf("%q is not host:port", text)
	}
	*h = HostPort(written)
	return nil
}

// Secret is a text that must not be seen. Its variable holds the path of the
// file that it is read from, and by convention ends in _FILE; its tag needs no
// option for that. Line ends at the end of the file are not part of it. Use it
// as string(s).
//
// It prints as [redacted] through fmt, slog and JSON. What no type can prevent:
// fmt shows what an unexported field of a printed struct holds, and what %p is
// given by mistake (which go vet refuses).
type Secret string

// maxSecret is the most that is read, in bytes: whoever names a device or a
// disk image by mistake gets an error.
const maxSecret = 64 << 10

// UnmarshalText takes a path and reads the secret from there. It refuses an
// empty file. No error shows the path, which may be the secret itself by
// mistake, or anything of the content.
func (s *Secret) UnmarshalText(path []byte) error {
	f, err := os.Open(string(path))
	if err != nil {
		return cause(err)
	}
	defer f.Close() // only read
	content, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return cause(err)
	}
	if len(content) > maxSecret {
		return errors.New("the file is longer than 64 KiB")
	}
	secret := strings.TrimRight(string(content), "\r\n")
	if secret == "" {
		return errors.New("the file is empty")
	}
	*s = Secret(secret)
	return nil
}

// String shows whether there is a secret, and nothing of it.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[redacted]"
}

// Format prints String with any verb; without it, fmt shows the text itself
// for verbs that do not fit.
func (s Secret) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), s.String())
}

// MarshalText is String, for JSON and others.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
