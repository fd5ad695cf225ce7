// Package config is everything an operator can set of botd, by environment.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"quartet/kit/settings"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

// Prefix starts the name of every variable that botd alone reads.
const Prefix = "BOTD_"

// Config is everything an operator can set. The doc tags are what `botd env`
// and docs/config.md print.
type Config struct {
	SignalURL url.URL `env:"SIGNAL_URL" envDefault:"http://127.0.0.1:8080" doc:"Where Signal is reached: http://host:port of signal-cli-rest-api, started with MODE=json-rpc; or tcp://host:port or unix:///path of signal-cli's own daemon, best with --receive-mode=manual, which loses nothing. It is trusted: whoever answers there reads and writes every message."`
	Number    string  `env:"NUMBER,required" doc:"The bot's own number, in the international form in which it is registered, as +15550100000."`

	WebhookAddr  settings.HostPort `env:"WEBHOOK_ADDR" doc:"host:port on which to take frames from signal-cli-rest-api's RECEIVE_WEBHOOK_URL, in place of its websocket, which loses bursts. The URL is http://host:port/webhook, with /TOKEN behind it when there is one."`
	WebhookToken settings.Secret   `env:"WEBHOOK_TOKEN_FILE" doc:"File with a word of 16 letters and digits or more that nobody can guess. Without one, only this machine may post."`
	SpoolDir     string            `env:"SPOOL_DIR" doc:"Folder in which signal-cli's daemon, under the same path and user, finds pictures to send; each bot needs its own. Without one they go inside the call, which is slower. For tcp:// and unix:// only."`

	Admins      []string `env:"ADMINS" doc:"Who may use the admin commands, as uuids or numbers with commas between them. They are told when the bot is called in a group that it does not know. Uuids are better: Signal hides numbers."`
	Groups      []string `env:"GROUPS" doc:"Groups that the bot answers in from the start, as ids in either spelling, or * for every group. Others it ignores until an admin allows them in a chat."`
	Direct      bool     `env:"DIRECT" envDefault:"true" doc:"Answer people who write to the bot itself. Admins are always answered."`
	ProfileName string   `env:"PROFILE_NAME" doc:"What the bot calls itself at Signal. It is set when Signal refuses messages for want of a name."`
	TrustNew    bool     `env:"TRUST_NEW_KEYS" envDefault:"false" doc:"When somebody's key has changed (a new phone, or somebody else), trust the new one and send again. Without it they get no answer until an operator has trusted it."`

	Limit          int              `env:"LIMIT" envDefault:"8" doc:"How many messages are handled at once. The next one waits behind the reader, which never stops reading. Each may hold a picture of 8 MiB and the request of 11 MiB that sends it."`
	BacklogBytes   settings.Bytes   `env:"BACKLOG_BYTES" envDefault:"16MiB" doc:"What waiting messages may weigh, each with 1 KiB of overhead; 64KiB to 4GiB, or to 32MiB with BOTD_STATE_DIR, which keeps them too. What comes on top is dropped and counted."`
	SpillBytes     settings.Bytes   `env:"SPILL_BYTES" envDefault:"256MiB" doc:"What may wait in BOTD_STATE_DIR when the backlog is full, where the server loses what it cannot hand on (websocket and webhook); 0 drops and counts it instead, from the first start on at which nothing waits there any more."`
	SenderWaiting  int              `env:"SENDER_WAITING" envDefault:"16" doc:"How many commands of one person may wait behind each other. They are told once; what comes on top is dropped and counted."`
	MaxAge         settings.Seconds `env:"MAX_AGE" envDefault:"10m" doc:"How old a command may be to be answered still, by the time when Signal's server had it. Nobody wants last night's cat in the morning."`
	CommandTimeout settings.Seconds `env:"COMMAND_TIMEOUT" envDefault:"15s" doc:"Bounds one command, all that it asks of others included."`
	SendTimeout    settings.Seconds `env:"SEND_TIMEOUT" envDefault:"60s" doc:"Bounds one send. signal-cli-rest-api itself has no limit and may never answer; after it the outcome is unknown and nothing is sent again."`
	DrainTimeout   settings.Seconds `env:"DRAIN_TIMEOUT" envDefault:"15s" doc:"How long a stop waits for the messages that were taken."`

	StateDir string `env:"STATE_DIR" doc:"Folder for what must survive a restart: which messages were taken and what became of each. It holds the text of a message until that is answered and the store is next shortened, and at most 192 MiB. Without one, a restart forgets all of it."`
	Sync     string `env:"SYNC" envDefault:"group" doc:"When the folder is safe from a loss of power: group, within 50 ms, or always, before each step is acted on, at the price of a sync a step. A crash of the bot loses nothing of it either way."`

	Prefixes []string `env:"PREFIX" envDefault:"!" doc:"What a message must begin with to be a command, as ! or bot:, with a sign at its end; several with commas between them. The first is the one that help shows."`
	Lang     string   `env:"LANG" envDefault:"pl" doc:"The language that the bot speaks, pl or en. Commands have names in both."`
	Quote    bool     `env:"QUOTE" envDefault:"false" doc:"Replies quote the question."`
	Ack      string   `env:"ACK" envDefault:"none" doc:"What shows that a command was heard before its answer is there: none, typing, or an emoji to react with."`
	Commands string   `env:"COMMANDS_FILE" doc:"TOML file with commands and schedules of your own, see docs/commands.md. SIGHUP reads it again."`

	Cooldown          settings.Seconds `env:"COOLDOWN" envDefault:"5s" doc:"How long one person waits before using the same command again. 0 turns it off, as for the four below."`
	CooldownUserGroup settings.Seconds `env:"COOLDOWN_USER_GROUP" envDefault:"0" doc:"How long one person waits before using the same command again in the same group."`
	CooldownGroup     settings.Seconds `env:"COOLDOWN_GROUP" envDefault:"0" doc:"How long a group waits before anybody there uses the same command again."`
	CooldownCommand   settings.Seconds `env:"COOLDOWN_COMMAND" envDefault:"0" doc:"How long everybody waits before anybody uses the same command again."`
	CooldownGlobal    settings.Seconds `env:"COOLDOWN_GLOBAL" envDefault:"0" doc:"How long everybody waits before anybody uses any command again."`

	RatePause    settings.Seconds `env:"RATE_PAUSE" envDefault:"1m" doc:"How long nothing is sent after Signal limited the rate of messages, or longer if Signal says so. It doubles, up to an hour, while that goes on."`
	PictureBurst int              `env:"PICTURE_BURST" envDefault:"50" doc:"How many pictures may go out at once before they are rationed, because Signal lets an account upload only so many. 0 does not ration."`
	PictureEvery settings.Seconds `env:"PICTURE_EVERY" envDefault:"4s" doc:"How long until one more picture may."`

	DeleteAttachments bool `env:"DELETE_ATTACHMENTS" envDefault:"true" doc:"Have signal-cli-rest-api delete the files of messages to the bot once those are answered or dropped; it keeps them for ever otherwise."`

	CatURL        url.URL         `env:"CAT_URL" envDefault:"https://api.thecatapi.com" doc:"Base URL of TheCatAPI, for !kot."`
	CatKey        settings.Secret `env:"CAT_KEY_FILE" doc:"File with the key of TheCatAPI. Without one it answers too, less often."`
	CatPool       int             `env:"CAT_POOL" envDefault:"4" doc:"How many pictures of cats are kept ready; 0 fetches each when it is asked for."`
	PictureHosts  []string        `env:"PICTURE_HOSTS" doc:"Hosts from which pictures of cats may come, beside TheCatAPI's own, as cdn.example.org or *.example.org."`
	CommonsURL    url.URL         `env:"COMMONS_URL" envDefault:"https://commons.wikimedia.org" doc:"Base URL of Wikimedia Commons, for !obraz."`
	UserAgent     string          `env:"USER_AGENT" envDefault:"botd" doc:"How the bot names itself to the public APIs. They ask for a way to reach you in it, Wikimedia insists, as: botd (https://example.org; me@example.org)."`
	UpstreamAllow []string        `env:"UPSTREAM_ALLOW" doc:"Exceptions, as host:port,host:port, from the rule that commands fetch from public addresses only. For simulators and tests."`

	AdminAddr     settings.HostPort `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9101" doc:"Where /livez, /readyz, /metrics and /_selftest are served."`
	Pprof         bool              `env:"PPROF" envDefault:"false" doc:"Serve /debug/pprof/ beside them."`
	SelftestGroup string            `env:"SELFTEST_GROUP" doc:"Id of the group that POST /_selftest and botd latency answer into, in either spelling. Without it they are refused."`
	LogLevel      slog.Level        `env:"LOG_LEVEL" envDefault:"INFO" doc:"DEBUG, INFO, WARN or ERROR. DEBUG has one line for each message; no level has what people wrote."`
}

// numberForm is E.164: a plus and up to fifteen digits.
var numberForm = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)

var uuidForm = regexp.MustCompile(`^(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

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
	fault(c.WebhookAddr != "" && c.DaemonAddress() != "", "BOTD_WEBHOOK_ADDR: only signal-cli-rest-api posts to a webhook, and BOTD_SIGNAL_URL is signal-cli's daemon")
	fault(c.WebhookAddr == "" && c.WebhookToken != "", "BOTD_WEBHOOK_TOKEN_FILE: needs BOTD_WEBHOOK_ADDR")
	fault(c.SpoolDir != "" && c.DaemonAddress() == "", "BOTD_SPOOL_DIR: only signal-cli's daemon reads pictures from there; BOTD_SIGNAL_URL is not its address")
	fault(!webAddress(c.CatURL), "BOTD_CAT_URL: %q is no http:// or https:// address", c.CatURL.Redacted())
	fault(!webAddress(c.CommonsURL), "BOTD_COMMONS_URL: %q is no http:// or https:// address", c.CommonsURL.Redacted())
	fault(c.Number != "" && !numberForm.MatchString(c.Number), "BOTD_NUMBER: %q is no number in the international form, as +15550100000", c.Number)
	fault(c.Limit < 1, "BOTD_LIMIT: %d is too few, 1 is the least", c.Limit)
	fault(c.Limit > maxLimit, "BOTD_LIMIT: %d is too many, %d is the most", c.Limit, maxLimit)
	fault(c.BacklogBytes < minBacklog, "BOTD_BACKLOG_BYTES: %s is too little, 64KiB is the least", c.BacklogBytes)
	fault(c.BacklogBytes > maxBacklog, "BOTD_BACKLOG_BYTES: %s is too much, 4GiB is the most", c.BacklogBytes)
	fault(c.StateDir != "" && c.BacklogBytes > maxKept, "BOTD_BACKLOG_BYTES: %s is too much, 32MiB is the most with BOTD_STATE_DIR, which keeps what waits", c.BacklogBytes)
	fault(c.SpillBytes != 0 && c.SpillBytes < minSpill, "BOTD_SPILL_BYTES: %s is too little, 16MiB is the least, or 0", c.SpillBytes)
	fault(c.MaxAge <= 0, "BOTD_MAX_AGE: must be more than 0")
	fault(c.RatePause <= 0, "BOTD_RATE_PAUSE: must be more than 0")
	fault(c.PictureBurst < 0, "BOTD_PICTURE_BURST: must not be negative")
	fault(c.PictureBurst > 0 && c.PictureEvery <= 0, "BOTD_PICTURE_EVERY: must be more than 0")
	fault(c.CatPool < 0 || c.CatPool > maxCatPool, "BOTD_CAT_POOL: %d is not within 0 and %d", c.CatPool, maxCatPool)
	fault(!acknowledges(c.Ack), "BOTD_ACK: %q is neither none nor typing nor an emoji", c.Ack)
	for _, d := range []struct {
		name  string
		value settings.Seconds
	}{{"", c.Cooldown}, {"_USER_GROUP", c.CooldownUserGroup}, {"_GROUP", c.CooldownGroup}, {"_COMMAND", c.CooldownCommand}, {"_GLOBAL", c.CooldownGlobal}} {
		fault(d.value < 0, "BOTD_COOLDOWN%s: must not be negative", d.name)
	}
	for _, a := range c.Admins {
		fault(!uuidForm.MatchString(a) && !numberForm.MatchString(a), "BOTD_ADMINS: %q is neither a uuid nor a number as +15550100000", a)
	}
	for i, g := range c.Groups {
		id, err := internalID(g)
		fault(err != nil && g != "*", "BOTD_GROUPS: %q is no group id", g)
		if err == nil {
			c.Groups[i] = id
		}
	}
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
	if _, err := upstream.ParseHosts(c.PictureHosts); err != nil {
		fault(true, "BOTD_PICTURE_HOSTS: %w", err)
	}
	fault(strings.ContainsFunc(c.UserAgent, unicode.IsControl), "BOTD_USER_AGENT: has a line break or another control character in it, which no header may have")
	for _, a := range c.UpstreamAllow {
		fault(!reachable(a), "BOTD_UPSTREAM_ALLOW: %q is not host:port", a)
	}
	if c.SelftestGroup != "" {
		id, err := internalID(c.SelftestGroup)
		fault(err != nil, "BOTD_SELFTEST_GROUP: %q is no group id", c.SelftestGroup)
		c.SelftestGroup = id
	}
	return errors.Join(faults...)
}

// DaemonAddress is the address of signal-cli's own daemon, as host:port or the
// path of a unix socket; "" when Signal is reached through signal-cli-rest-api.
func (c *Config) DaemonAddress() string {
	switch u := c.SignalURL; {
	case u.Scheme == "tcp" && reachable(u.Host) && u.Path == "":
		return u.Host
	case u.Scheme == "unix" && u.Host == "" && filepath.IsAbs(u.Path):
		return u.Path
	}
	return ""
}

// EveryGroup reports whether the bot answers in all groups.
func (c *Config) EveryGroup() bool { return slices.Contains(c.Groups, "*") }

// internalID is a group's id as frames spell it.
func internalID(id string) (string, error) {
	if internal, ok := envelope.InternalGroupID(id); ok {
		return internal, nil
	}
	if !envelope.IsInternalGroupID(id) {
		return "", errors.New("no group id")
	}
	return id, nil
}

// acknowledges reports whether a is a way to acknowledge: a name, or one sign
// that is no letter or digit.
func acknowledges(a string) bool {
	if a == "none" || a == "typing" {
		return true
	}
	return a != "" && utf8.ValidString(a) && uniseg.GraphemeClusterCount(a) == 1 && a[0] >= utf8.RuneSelf
}

// maxLimit messages with their pictures are more than any machine has room for.
const maxLimit = 1_000_000

// minSpill is two segments of the journal that the spill is in; maxCatPool
// pictures weigh as much as the pool may at most.
const (
	minSpill   = 16 << 20
	maxCatPool = 64
)

// minBacklog lets some tens of messages wait, maxBacklog some millions. maxKept is
// half of what the store takes: what waits is in there as well.
const (
	minBacklog = 64 << 10
	maxBacklog = 4 << 30
	maxKept    = 32 << 20
)

func webAddress(u url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// reachable reports whether address is host:port, with a host.
func reachable(address string) bool {
	var a settings.HostPort
	return a.UnmarshalText([]byte(address)) == nil && address[0] != ':'
}
