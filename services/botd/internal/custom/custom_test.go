package custom_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quartet/kit/pool"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/custom"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

// options ask only the given host:port pairs, beside public ones.
func options(allow ...string) custom.Options {
	guard := upstream.NewGuard(allow, net.Dialer{Timeout: 2 * time.Second})
	return custom.Options{
		Lang:    said.Polish,
		Limits:  cooldown.Limits{User: 7 * time.Second},
		Fetcher: upstream.NewFetcher("botd-test", pool.New("custom", pool.Options{Dial: guard.Dial})),
		Picture: func(data []byte) (upstream.Picture, error) {
			if kind := http.DetectContentType(data); strings.HasPrefix(kind, "image/") {
				return upstream.Picture{ContentType: kind, Data: data}, nil
			}
			return upstream.Picture{}, upstream.ErrNotAPicture
		},
	}
}

// one makes the command of a file that has one; fields are those beside name and help.
func one(t *testing.T, o custom.Options, fields string) *command.Command {
	t.Helper()
	f, err := commandfile.Parse([]byte("[[command]]\nname = \"x\"\nhelp = \"x\"\n" + fields))
	if err != nil {
		t.Fatal(err)
	}
	all, err := custom.New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// the words that people write, which no error may have.
const private = "tajemne słowo"

// ask uses a command with a text behind its name.
func ask(t *testing.T, c *command.Command, text string) (command.Reply, error) {
	t.Helper()
	args, err := asked.Call{Text: text, Mentions: []asked.Mention{{UUID: "u-ela"}}}.Fit(c.Params)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.Run(t.Context(), command.Request{
		Sender: "u-ala", Name: "Ala Ma-kota", Admin: true, Group: "Nasza grupa", Chat: transport.Chat{Group: "g-1"},
		Args: args, Text: text, Sent: 1_700_000_000_123,
	})
	if err != nil {
		for _, word := range append(strings.Fields(private), "u-ala", "Ala", "Nasza", "g-1", "1700000000123", "s%C5%82owo") {
			if strings.Contains(err.Error(), word) {
				t.Errorf("the error has %q: %v", word, err)
			}
		}
	}
	return reply, err
}

func TestCommandIsAsTheFileSays(t *testing.T) {
	c := one(t, options(), `aliases = ["y"]
where = "direct"
who = "admins"
people = ["5f6b1a2c-0d3e-4f50-8a61-7b2c3d4e5f60"]
cooldown = { group = "1m", global = "1s" }
params = [{ name = "p", kind = "number" }]
text = "raz"
`)
	if c.Name != "x" || c.Help != "x" || c.Aliases[0] != "y" || c.Where != command.InDirect || !c.Admins || len(c.People) != 1 || c.Params[0].Kind != asked.Number {
		t.Errorf("%+v", c)
	}
	if c.Limits != (cooldown.Limits{Group: time.Minute, Global: time.Second}) {
		t.Errorf("limits %+v", c.Limits)
	}
	if reply, err := ask(t, c, "1"); err != nil || reply.Text != "raz" {
		t.Errorf("%+v, %v", reply, err)
	}
	c = one(t, options(), "where = \"group\"\ngroups = [\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"]\ntext = \"raz\"")
	if c.Where != command.InGroups || len(c.Groups) != 1 || c.Limits != (cooldown.Limits{User: 7 * time.Second}) {
		t.Errorf("%+v", c)
	}
}

func TestChoiceGoesByWeight(t *testing.T) {
	c := one(t, options(), `choice = ["a", { text = "b", weight = 8 }, "c"]`)
	got := map[string]int{}
	for range 10_000 {
		reply, err := ask(t, c, "")
		if err != nil {
			t.Fatal(err)
		}
		got[reply.Text]++
	}
	if len(got) != 3 || got["a"] < 700 || got["c"] < 700 || got["b"] < 7000 {
		t.Errorf("%v, want about 1000, 8000 and 1000", got)
	}
}

// What a file names must be there, and all that is not is told at once.
func TestWhatIsMissingIsNamed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	f, err := commandfile.Parse(fmt.Appendf(nil, `
[[command]]
name = "a"
help = "a"
exec = { run = ["%[1]s/none"], dir = "%[1]s/nowhere", env = { K = { file = "%[1]s/nokey" } } }
[[command]]
name = "b"
help = "b"
http = { url = "http://example.org", header = { X-Key = { file = %[2]q }, Y-Key = { file = %[3]q } } }
[[command]]
name = "c"
help = "c"
text = "c"
[[command]]
name = "d"
help = "d"
exec = { run = [%[4]q] }
`, dir, write("empty", "\n"), write("two", "very\nsecret"), write("data", "x")))
	if err != nil {
		t.Fatal(err)
	}
	_, err = custom.New(f, options())
	faults, ok := errors.AsType[commandfile.Faults](err)
	if !ok || len(faults) != 3 {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{"line 2: command \"a\": ", "/none is no program", "/nowhere is no folder", "/nokey", "line 6: command \"b\"", "/empty is empty", "/two has more than one line", "line 14", "/data is no program"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in:\n%v", part, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error has a secret: %v", err)
	}
}
