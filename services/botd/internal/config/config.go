// Package config is everything an operator can set of botd, by environment.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"quartet/kit/settings"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/said"
)

// Prefix starts the name of every variable that botd alone reads.
const Prefix = "BOTD_"

// Config is everything an operator can set. The doc tags are what `botd env`
// and docs/config.md print.
type Config struct {
	SignalURL url.URL `env:"SIGNAL_URL" envDefault:"http://127.0.0.1:8080" doc:"Where Signal is reached: http://host:port of signal-cli-rest-api, started with MODE=json-rpc; or tcp://host:port or unix:///path of signal-cli's own daemon, best with --receive-mode=manual, which loses nothing. It is trusted: whoever answers there reads and writes every message."`
	Number    string  `env:"NUMBER,required" doc:"The bot's own number, in the international form in which it is registered, as +15550100000."`

	WebhookAddr  string          `env:"WEBHOOK_ADDR" doc:"host:port on which to take frames from signal-cli-rest-api's RECEIVE_WEBHOOK_URL, in place of its websocket, which loses bursts. The URL is http://host:port/webhook, with /TOKEN behind it when there is one."`
	WebhookToken settings.Secret `env:"WEBHOOK_TOKEN_FILE" doc:"File with a word of 16 letters and digits or more that nobody can guess. Without one, only this machine may post."`
	SpoolDir     string          `env:"SPOOL_DIR" doc:"Folder in which signal-cli's daemon, under the same path and user, finds pictures to send. Without one they go inside the call, which is slower. For tcp:// and unix:// only."`

	Limit          int              `env:"LIMIT" envDefault:"8" doc:"How many messages are handled at once. The next one waits behind the reader, which never stops reading. Each may hold a picture of 8 MiB and the request of 11 MiB that sends it."`
	BacklogBytes   settings.Bytes   `env:"BACKLOG_BYTES" envDefault:"16MiB" doc:"What waiting messages may weigh, each with 1 KiB of overhead; 64KiB to 4GiB. What comes on top is dropped and counted."`
	SenderWaiting  int              `env:"SENDER_WAITING" envDefault:"16" doc:"How many commands of one person may wait behind each other. What comes on top is dropped and counted."`
	CommandTimeout settings.Seconds `env:"COMMAND_TIMEOUT" envDefault:"15s" doc:"Bounds one command, all that it asks of others included."`
	SendTimeout    settings.Seconds `env:"SEND_TIMEOUT" envDefault:"60s" doc:"Bounds one send. signal-cli-rest-api itself has no limit and may never answer; after it the outcome is unknown and nothing is sent again."`
	DrainTimeout   settings.Seconds `env:"DRAIN_TIMEOUT" envDefault:"15s" doc:"How long a stop waits for the messages that were taken."`

	StateDir string `env:"STATE_DIR" doc:"Folder for what must survive a restart: which messages were taken and what became of each. It holds the text of a message until that is answered, and at most 192 MiB. Without one, a restart forgets all of it."`
	Sync     string `env:"SYNC" envDefault:"group" doc:"When the folder is safe from a loss of power: group, within 50 ms, or always, before each step is acted on, at the price of a sync a step. A crash of the bot loses nothing either way."`

	Prefixes []string         `env:"PREFIX" envDefault:"!" doc:"What a message must begin with to be a command; several with commas between them. The first is the one that help shows."`
	Lang     string           `env:"LANG" envDefault:"pl" doc:"The language that the bot speaks, pl or en. Commands have names in both."`
	Quote    bool             `env:"QUOTE" envDefault:"false" doc:"Replies quote the question."`
	Cooldown settings.Seconds `env:"COOLDOWN" envDefault:"5s" doc:"How long one person waits before using the same command again. 0 turns it off."`

	CatURL        url.URL         `env:"CAT_URL" envDefault:"https://api.thecatapi.com" doc:"Base URL of TheCatAPI, for !kot."`
	CatKey        settings.Secret `env:"CAT_KEY_FILE" doc:"File with the key of TheCatAPI. Without one it answers too, less often."`
	CommonsURL    url.URL         `env:"COMMONS_URL" envDefault:"https://commons.wikimedia.org" doc:"Base URL of Wikimedia Commons, for !obraz."`
	UserAgent     string          `env:"USER_AGENT" envDefault:"botd" doc:"How the bot names itself to the public APIs. They ask for a way to reach you in it, Wikimedia insists, as: botd (https://example.org; me@example.org)."`
	UpstreamAllow []string        `env:"UPSTREAM_ALLOW" doc:"Exceptions, as host:port,host:port, from the rule that commands fetch from public addresses only. For simulators and tests."`

	AdminAddr     string     `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9101" doc:"Where /livez, /readyz, /metrics and /_selftest are served."`
	Pprof         bool       `env:"PPROF" envDefault:"false" doc:"Serve /debug/pprof/ beside them."`
	SelftestGroup string     `env:"SELFTEST_GROUP" doc:"Id of the group that POST /_selftest and botd latency answer into, in either spelling. Without it they are refused."`
	LogLevel      slog.Level `env:"LOG_LEVEL" envDefault:"INFO" doc:"DEBUG, INFO, WARN or ERROR. DEBUG has one line for each message; no level has what people wrote."`
}

// numberForm is E.164: a plus and up to fifteen digits.
var numberForm = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)

// Parse reads the configuration from environ. The error names every fault.
func Parse(environ []string) (Config, error) {
	return settings.Parse[Config](Prefix, environ)
}

// Validate reports every value that cannot work.
func (c *Config) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(!webAddress(c.SignalURL) && c.DaemonAddress() == "", "BOTD_SIGNAL_URL: %q is no http://, https://, tcp://host:port or unix:///path address", c.SignalURL.Redacted())
	fault(c.WebhookAddr != "" && !hostPort(c.WebhookAddr, true), "BOTD_WEBHOOK_ADDR: %q is not host:port", c.WebhookAddr)
	fault(c.WebhookAddr != "" && c.DaemonAddress() != "", "BOTD_WEBHOOK_ADDR: only signal-cli-rest-api posts to a webhook, and BOTD_SIGNAL_URL is signal-cli's daemon")
	fault(c.WebhookAddr == "" && c.WebhookToken != "", "BOTD_WEBHOOK_TOKEN_FILE: needs BOTD_WEBHOOK_ADDR")
	fault(c.SpoolDir != "" && c.DaemonAddress() == "", "BOTD_SPOOL_DIR: only signal-cli's daemon reads pictures from there; BOTD_SIGNAL_URL is not its address")
	fault(!webAddress(c.CatURL), "BOTD_CAT_URL: %q is no http:// or https:// address", c.CatURL.Redacted())
	fault(!webAddress(c.CommonsURL), "BOTD_COMMONS_URL: %q is no http:// or https:// address", c.CommonsURL.Redacted())
	fault(c.Number != "" && !numberForm.MatchString(c.Number), "BOTD_NUMBER: %q is no number in the international form, as +15550100000", c.Number)
	fault(c.Limit < 1, "BOTD_LIMIT: %d is too few, 1 is the least", c.Limit)
	fault(c.BacklogBytes < minBacklog, "BOTD_BACKLOG_BYTES: %s is too little, 64KiB is the least", c.BacklogBytes)
	fault(c.BacklogBytes > maxBacklog, "BOTD_BACKLOG_BYTES: %s is too much, 4GiB is the most", c.BacklogBytes)
	fault(c.SenderWaiting < 1, "BOTD_SENDER_WAITING: %d is too few, 1 is the least", c.SenderWaiting)
	fault(c.CommandTimeout <= 0, "BOTD_COMMAND_TIMEOUT: must be more than 0")
	fault(c.SendTimeout <= 0, "BOTD_SEND_TIMEOUT: must be more than 0")
	fault(c.Sync != "group" && c.Sync != "always", "BOTD_SYNC: %q is neither group nor always", c.Sync)
	if _, err := asked.NewReader(c.Prefixes, asked.Self{}); err != nil {
		fault(true, "BOTD_PREFIX: %w", err)
	}
	if _, err := said.ParseLang(c.Lang); err != nil {
		fault(true, "BOTD_LANG: %q is neither pl nor en", c.Lang)
	}
	fault(!hostPort(c.AdminAddr, true), "BOTD_ADMIN_ADDR: %q is not host:port", c.AdminAddr)
	for _, a := range c.UpstreamAllow {
		fault(!hostPort(a, false), "BOTD_UPSTREAM_ALLOW: %q is not host:port", a)
	}
	if c.SelftestGroup != "" {
		internal, ok := envelope.InternalGroupID(c.SelftestGroup)
		switch {
		case ok:
			c.SelftestGroup = internal
		case !envelope.IsInternalGroupID(c.SelftestGroup):
			fault(true, "BOTD_SELFTEST_GROUP: %q is no group id", c.SelftestGroup)
		}
	}
	return errors.Join(faults...)
}

// DaemonAddress is the address of signal-cli's own daemon, as host:port or the
// path of a unix socket; "" when Signal is reached through signal-cli-rest-api.
func (c *Config) DaemonAddress() string {
	switch u := c.SignalURL; {
	case u.Scheme == "tcp" && hostPort(u.Host, false) && u.Path == "":
		return u.Host
	case u.Scheme == "unix" && u.Host == "" && filepath.IsAbs(u.Path):
		return u.Path
	}
	return ""
}

// minBacklog lets some tens of messages wait, maxBacklog some millions.
const (
	minBacklog = 64 << 10
	maxBacklog = 4 << 30
)

func webAddress(u url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// hostPort reports whether address is host:port, or :port for every host.
func hostPort(address string, everyHost bool) bool {
	host, port, err := net.SplitHostPort(address)
	return err == nil && port != "" && (host != "" || everyHost) && !strings.ContainsAny(host, "/ ")
}
