package settings_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quartet/kit/settings"
)

// config has one of everything that a service declares.
type config struct {
	Number  string            `env:"NUMBER,required" doc:"The number."`
	Limit   int               `env:"LIMIT" envDefault:"8" doc:"How many at once."`
	Weight  settings.Bytes    `env:"WEIGHT" envDefault:"16MiB" doc:"How heavy."`
	Timeout settings.Seconds  `env:"TIMEOUT" envDefault:"15s" doc:"How long."`
	Plain   time.Duration     `env:"PLAIN" envDefault:"1s" doc:"A duration of Go's."`
	URL     url.URL           `env:"URL" envDefault:"http://127.0.0.1:8080" doc:"Where."`
	Admin   settings.HostPort `env:"ADMIN_ADDR" envDefault:":9101" doc:"Where it listens."`
	Key     settings.Secret   `env:"KEY_FILE" doc:"File with the key."`
	Pprof   bool              `env:"PPROF" envDefault:"false" doc:"Whether."`
	Hosts   []string          `env:"HOSTS" doc:"Which."`
	Ports   []int             `env:"PORTS" doc:"Which ports."`
	Ratio   float64           `env:"RATIO" envDefault:"0.5" doc:"How much."`
	Total   int64             `env:"TOTAL" doc:"How many altogether."`
	Small   uint8             `env:"SMALL" doc:"How few."`
	Level   slog.Level        `env:"QUARTET_LOG_LEVEL" envDefault:"INFO" doc:"What is logged."`
	Cache   cache             `envPrefix:"CACHE_"`
	Common  common            `envPrefix:"QUARTET_TRACE_"`

	Derived string // not from the environment
	Skipped string `env:"-"`
}

type cache struct {
	Size  settings.Bytes `env:"SIZE" envDefault:"1KiB" doc:"How large."`
	Inner struct {
		TTL settings.Seconds `env:"TTL" envDefault:"60" doc:"How long kept."`
	} `envPrefix:"ENTRY_"`
}

type common struct {
	Ratio float64 `env:"RATIO" envDefault:"1" doc:"Which part is traced."`
}

func parse(environ ...string) (config, error) {
	return settings.Parse[config]("BOTD_", environ)
}

func TestDefaultsAreTaken(t *testing.T) {
	c, err := parse("BOTD_NUMBER=+15550100000", "HOME=/root", "OTHER_LIMIT=x")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(c.Number, c.Limit, c.Weight, c.Timeout, c.Plain, c.URL.Host, c.Pprof, len(c.Hosts), c.Ratio, c.Level,
		c.Cache.Size, c.Cache.Inner.TTL, c.Common.Ratio)
	want := fmt.Sprintln("+15550100000", 8, "16MiB", "15s", "1s", "127.0.0.1:8080", false, 0, 0.5, "INFO", "1KiB", "1m0s", 1)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestVariablesAreRead(t *testing.T) {
	c, err := parse("BOTD_NUMBER=1", "BOTD_LIMIT=8589934592", "BOTD_WEIGHT=123", "BOTD_TIMEOUT=1.5", "BOTD_PLAIN=2m",
		"BOTD_URL=https://user:pass@example.org/x", "BOTD_PPROF=true", "BOTD_HOSTS=a:1,b:2", "BOTD_PORTS=1,2", "BOTD_RATIO=0.25",
		"BOTD_TOTAL=9223372036854775807", "BOTD_SMALL=255", "QUARTET_LOG_LEVEL=debug", "BOTD_CACHE_SIZE=2GB",
		"BOTD_CACHE_ENTRY_TTL=250ms", "QUARTET_TRACE_RATIO=0.001")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(c.Limit, int64(c.Weight), time.Duration(c.Timeout), c.Plain, c.URL.Path, c.Pprof, c.Hosts, c.Ports, c.Ratio,
		c.Total, c.Small, c.Level, int64(c.Cache.Size), c.Cache.Inner.TTL, c.Common.Ratio)
	want := fmt.Sprintln(8589934592, 123, "1.5s", "2m0s", "/x", true, "[a:1 b:2]", "[1 2]", 0.25,
		"9223372036854775807", 255, "DEBUG", "2000000000", "250ms", 0.001)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOurOwnEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("BOTD_NUMBER", "from the process")
	if c, err := parse(); err == nil {
		t.Errorf("Number = %q though environ has none", c.Number)
	}
}

func TestEmptyCountsAsNotSet(t *testing.T) {
	c, err := parse("BOTD_NUMBER=1", "BOTD_LIMIT=", "BOTD_KEY_FILE=", "BOTD_HOSTS=")
	if err != nil || c.Limit != 8 || c.Key != "" || c.Hosts != nil {
		t.Errorf("Parse = %d %v %v, %v, want the defaults", c.Limit, c.Key, c.Hosts, err)
	}
	if _, err = parse("BOTD_NUMBER="); err == nil || err.Error() != "BOTD_NUMBER: required, but not set" {
		t.Errorf("error = %v, want that the number is missing", err)
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	_, err := parse("BOTD_LIMITS=9", "BOTD_LIMIT=many", "BOTD_WEIGHT=16M", "BOTD_TIMEOUT=-1", "BOTD_PPROF=maybe",
		"BOTD_PORTS=1,x", "BOTD_SMALL=256", "QUARTET_LOG_LEVEL=LOUD", "QUARTET_LOG_LEVL=INFO", "BOTD_SOMETHING=else",
		"BOTD_CACHE_ENTRY_TTL=15x", "BOTD_URL=http://[", "BOTD_PLAIN=15", "BOTD_ADMIN_ADDR=9101")
	if err == nil {
		t.Fatal("Parse took all of it")
	}
	want := `15 faults in the configuration:
  BOTD_LIMITS: there is no such variable, did you mean BOTD_LIMIT?
  BOTD_SOMETHING: there is no such variable
  QUARTET_LOG_LEVL: there is no such variable, did you mean QUARTET_LOG_LEVEL?
  BOTD_NUMBER: required, but not set
  BOTD_LIMIT: "many": want a whole number of 64 bits
  BOTD_WEIGHT: "16M": want bytes or a size such as 1048576, 16MiB or 2GB
  BOTD_TIMEOUT: "-1": want seconds or a duration such as 90, 1.5 or 1m30s, not negative
  BOTD_PLAIN: "15": want a duration such as 1m30s
  BOTD_URL: "http://[": want an address such as http://127.0.0.1:8080
  BOTD_ADMIN_ADDR: "9101": want host:port, or :port for every host
  BOTD_PPROF: "maybe": want true or false
  BOTD_PORTS: "1,x": want a list, each a whole number of 64 bits
  BOTD_SMALL: "256": want a whole number of 8 bits, not negative
  QUARTET_LOG_LEVEL: "LOUD": want DEBUG, INFO, WARN or ERROR
  BOTD_CACHE_ENTRY_TTL: "15x": want seconds or a duration such as 90, 1.5 or 1m30s, not negative`
	if err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
}

func TestSharedNamesAreNoneOfOursUnlessSomeAreRead(t *testing.T) {
	type own struct {
		Limit int `env:"LIMIT" envDefault:"8"`
	}
	if _, err := settings.Parse[own]("BOTD_", []string{"QUARTET_LOG_LEVEL=INFO"}); err != nil {
		t.Errorf("a service without shared names refused one: %v", err)
	}
}

func TestNameOfTheSecretLeadsToThatOfItsFile(t *testing.T) {
	_, err := parse("BOTD_NUMBER=1", "BOTD_KEY=hunter2")
	want := "BOTD_KEY: there is no such variable, did you mean BOTD_KEY_FILE?"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestPasswordInAnAddressIsNotShown(t *testing.T) {
	_, err := parse("BOTD_NUMBER=1", "BOTD_URL=http://user:hunter2@host:port")
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "BOTD_URL") {
		t.Errorf("error = %v, want one about BOTD_URL without the password", err)
	}
}

func TestFileOptionDoesNotShowTheContent(t *testing.T) {
	type fromFile struct {
		Limit int `env:"LIMIT_FILE,file"`
	}
	path := filepath.Join(t.TempDir(), "limit")
	if err := os.WriteFile(path, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := settings.Parse[fromFile]("X_", []string{"X_LIMIT_FILE=" + path})
	want := "X_LIMIT_FILE: want the path of a file that holds a whole number of 64 bits"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

var errOdd = errors.New("X_COUNT: must be even")

// checked has rules beyond those of its types.
type checked struct {
	Count int    `env:"COUNT" envDefault:"2" doc:"How many."`
	Name  string `env:"NAME" envDefault:"n" doc:"Who."`
}

func (c *checked) Validate() error {
	var odd, long error
	if c.Count%2 != 0 || c.Count == 0 {
		odd = errOdd
	}
	if len(c.Name) > 3 {
		long = errors.New("X_NAME: too long")
	}
	c.Name = strings.ToUpper(c.Name)
	return errors.Join(odd, long)
}

func TestValidateAddsItsFaults(t *testing.T) {
	_, err := settings.Parse[checked]("X_", []string{"X_COUNT=3", "X_NAME=long", "X_COLOR=red"})
	want := `3 faults in the configuration:
  X_COLOR: there is no such variable
  X_COUNT: must be even
  X_NAME: too long`
	if err == nil || err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
	if !errors.Is(err, errOdd) {
		t.Error("errors.Is does not find Validate's own error")
	}
}

func TestValidateDoesNotRepeatAFault(t *testing.T) {
	_, err := settings.Parse[checked]("X_", []string{"X_COUNT=three"})
	want := `X_COUNT: "three": want a whole number of 64 bits`
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want only %s", err, want)
	}
}

func TestValidateMayChangeTheValues(t *testing.T) {
	c, err := settings.Parse[checked]("X_", []string{"X_NAME=abc"})
	if err != nil || c.Name != "ABC" {
		t.Errorf("Parse = %+v, %v, want the name that Validate made", c, err)
	}
}

func TestWrongDefaultIsAFault(t *testing.T) {
	type broken struct {
		Limit int `env:"LIMIT" envDefault:"eight"`
	}
	_, err := settings.Parse[broken]("X_", nil)
	if want := `X_LIMIT: "eight": want a whole number of 64 bits`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestOnlyStructsAreParsed(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Parse took an int")
		}
	}()
	_, _ = settings.Parse[int]("X_", nil)
}
