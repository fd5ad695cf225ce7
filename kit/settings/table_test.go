package settings_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"quartet/kit/settings"
)

type shown struct {
	Number string           `env:"NUMBER,required" doc:"The number."`
	Limit  int              `env:"LIMIT" envDefault:"8" doc:"How many are handled at once. The next one waits behind the reader, which never stops reading, whatever comes."`
	Agent  string           `env:"USER_AGENT" envDefault:"botd (https://example.org/a/long/name)" doc:"How it names itself: a|b."`
	Key    settings.Secret  `env:"KEY_FILE" doc:"File with the key."`
	Trace  settings.Seconds `env:"QUARTET_TRACE" envDefault:"5s" doc:"Shared by all."`
	Cache  cache            `envPrefix:"CACHE_"`
}

func TestPlainTableIsAligned(t *testing.T) {
	var out strings.Builder
	if err := settings.Write[shown](&out, "BOTD_", false); err != nil {
		t.Fatal(err)
	}
	want := `NAME                  DEFAULT   MEANING
BOTD_NUMBER           required  The number.
BOTD_LIMIT            8         How many are handled at once. The next one waits behind the reader,
                                which never stops reading, whatever comes.
BOTD_USER_AGENT       botd (https://example.org/a/long/name)
                                How it names itself: a|b.
BOTD_KEY_FILE         -         File with the key.
QUARTET_TRACE         5s        Shared by all.
BOTD_CACHE_SIZE       1KiB      How large.
BOTD_CACHE_ENTRY_TTL  60        How long kept.
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line) > 101 {
			t.Errorf("line of more than 100: %s", line)
		}
	}
}

func TestMarkdownTable(t *testing.T) {
	var out strings.Builder
	if err := settings.Write[shown](&out, "BOTD_", true); err != nil {
		t.Fatal(err)
	}
	want := "| Variable | Default | Meaning |\n" +
		"| --- | --- | --- |\n" +
		"| `BOTD_NUMBER` | required | The number. |\n" +
		"| `BOTD_LIMIT` | `8` | How many are handled at once. The next one waits behind the reader, which never stops reading, whatever comes. |\n" +
		"| `BOTD_USER_AGENT` | `botd (https://example.org/a/long/name)` | How it names itself: a\\|b. |\n" +
		"| `BOTD_KEY_FILE` | - | File with the key. |\n" +
		"| `QUARTET_TRACE` | `5s` | Shared by all. |\n" +
		"| `BOTD_CACHE_SIZE` | `1KiB` | How large. |\n" +
		"| `BOTD_CACHE_ENTRY_TTL` | `60` | How long kept. |\n"
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestVariableWithoutMeaningIsRefused(t *testing.T) {
	type mute struct {
		Limit int `env:"LIMIT"`
	}
	if err := settings.Write[mute](os.Stderr, "X_", false); err == nil || err.Error() != "X_LIMIT has no doc tag" {
		t.Errorf("error = %v, want one about X_LIMIT", err)
	}
}

type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestErrorOfTheWriterIsReported(t *testing.T) {
	if err := settings.Write[shown](brokenPipe{}, "BOTD_", true); !errors.Is(err, errPipe) {
		t.Errorf("Write = %v, want the writer's error", err)
	}
}
