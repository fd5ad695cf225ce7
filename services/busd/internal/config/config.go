// Package config is everything an operator can set of busd by environment:
// how the process behaves. What the bus allows, and where it listens, is in
// dbus-daemon's configuration file (package busconf).
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"quartet/kit/settings"
	"quartet/services/busd/internal/bus"
)

// Prefix starts the name of every variable that busd alone reads.
const Prefix = "BUSD_"

// Config is everything an operator can set. The doc tags are what `busd env`
// and docs/config.md print.
type Config struct {
	BatchMessages int            `env:"BATCH_MESSAGES" envDefault:"16" doc:"How many messages of one client are handled before the next client's turn. One that is alone is not held up by it."`
	BatchBytes    settings.Bytes `env:"BATCH_BYTES" envDefault:"16KiB" doc:"How many bytes of one client are handled before the next client's turn, and one message more."`

	SendTimeout settings.Seconds `env:"SEND_TIMEOUT" envDefault:"30s" doc:"How long a client may leave unread what waits for it before it is disconnected and named in the log. A trickle is no progress: all that waited at some moment must be read within it. 0 is for ever."`

	UserBytes  settings.Bytes `env:"USER_BYTES" envDefault:"2GiB" doc:"How many bytes may wait in the bus because one user's clients asked for them. The limits of one connection (max_outgoing_bytes and others) come first: those of Debian's session.conf are 1 GB, and this lets two such connections be full."`
	UserFDs    int64          `env:"USER_FDS" envDefault:"16384" doc:"How many file descriptors may wait likewise, also unread in sockets; as many again may have come, and their messages not yet. It is a quarter of the 65536 that the bus raises its own limit to, so that no user takes more than half of them; where it may not, a quarter of what it has."`
	UserQuotas []string       `env:"USER_QUOTAS" doc:"Exceptions from both for single users, as uid:bytes:fds, with commas between them: 0:8GiB:32768,1000:64MiB:256."`

	ReplyInvalid bool `env:"REPLY_INVALID" envDefault:"false" doc:"Tell the sender of a call that has a valid header, and a body that is invalid, what is wrong with it before it is disconnected. dbus-daemon says nothing."`

	AdminAddr  settings.HostPort `env:"ADMIN_ADDR" doc:"host:port where /livez, /readyz and /metrics are served, by busd-telemetry, which busd then becomes. Without it busd opens no port but those of its configuration."`
	Pprof      bool              `env:"PPROF" envDefault:"false" doc:"Serve /debug/pprof/ beside them."`
	TraceRatio float64           `env:"TRACE_RATIO" envDefault:"0.001" doc:"How many of all batches are traced while spans are exported (OTEL_EXPORTER_OTLP_ENDPOINT): 0 to 1."`

	LogLevel slog.Level `env:"LOG_LEVEL" envDefault:"WARN" doc:"DEBUG, INFO, WARN or ERROR. It is WARN because dbus-daemon says as little. No level has what is in messages."`

	quotas map[uint32]bus.Quota
}

// Parse reads the configuration from environ. The error names every fault.
func Parse(environ []string) (Config, error) {
	return settings.Parse[Config](Prefix, environ)
}

// Least values that let the bus work at all.
const (
	minBatchBytes = 1 << 10
	minUserBytes  = 64 << 10
	minUserFDs    = 16
)

// maxUserBytes is more than there is memory, and less than a budget can count.
const maxUserBytes = 1 << 50

// Validate reports every value that cannot work, and reads UserQuotas into what
// Quotas returns.
func (c *Config) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(c.BatchMessages < 1, "BUSD_BATCH_MESSAGES: %d is too few, 1 is the least", c.BatchMessages)
	fault(c.BatchBytes < minBatchBytes, "BUSD_BATCH_BYTES: %s is too little, 1KiB is the least", c.BatchBytes)
	fault(c.UserBytes < minUserBytes, "BUSD_USER_BYTES: %s is too little, 64KiB is the least", c.UserBytes)
	fault(c.UserBytes > maxUserBytes, "BUSD_USER_BYTES: %s is too much, 1024TiB is the most", c.UserBytes)
	fault(c.UserFDs < minUserFDs, "BUSD_USER_FDS: %d is too few, %d is the least", c.UserFDs, minUserFDs)
	fault(c.Pprof && c.AdminAddr == "", "BUSD_PPROF: needs BUSD_ADMIN_ADDR")
	fault(!(c.TraceRatio >= 0 && c.TraceRatio <= 1), "BUSD_TRACE_RATIO: %v is not within 0 and 1", c.TraceRatio)
	c.quotas = map[uint32]bus.Quota{}
	for _, each := range c.UserQuotas {
		uid, quota, err := parseQuota(each)
		_, twice := c.quotas[uid]
		fault(err != nil, "BUSD_USER_QUOTAS: %q: %w", each, err)
		fault(err == nil && twice, "BUSD_USER_QUOTAS: %q: the user has a quota already", each)
		if err == nil {
			c.quotas[uid] = quota
		}
	}
	return errors.Join(faults...)
}

// Quota is what each user has who is not among Quotas.
func (c *Config) Quota() bus.Quota {
	return bus.Quota{Bytes: int64(c.UserBytes), FDs: c.UserFDs}
}

// Quotas are the exceptions, by uid.
func (c *Config) Quotas() map[uint32]bus.Quota { return c.quotas }

// parseQuota reads uid:bytes:fds.
func parseQuota(text string) (uint32, bus.Quota, error) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	if len(parts) != 3 {
		return 0, bus.Quota{}, errors.New("it is not uid:bytes:fds")
	}
	uid, err := strconv.ParseUint(parts[0], 10, 32)
	if err != nil {
		return 0, bus.Quota{}, fmt.Errorf("%q is no uid", parts[0])
	}
	var bytes settings.Bytes
	if err := bytes.UnmarshalText([]byte(parts[1])); err != nil {
		return 0, bus.Quota{}, err
	}
	fds, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil || fds < 0 {
		return 0, bus.Quota{}, fmt.Errorf("%q is no number of file descriptors", parts[2])
	}
	if bytes < minUserBytes {
		return 0, bus.Quota{}, fmt.Errorf("%s is too little, 64KiB is the least", bytes)
	}
	if bytes > maxUserBytes {
		return 0, bus.Quota{}, fmt.Errorf("%s is too much, 1024TiB is the most", bytes)
	}
	return uint32(uid), bus.Quota{Bytes: int64(bytes), FDs: fds}, nil
}
