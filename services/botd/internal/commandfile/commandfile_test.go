package commandfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/commandfile"
)

func parse(t *testing.T, source string) *commandfile.File {
	t.Helper()
	f, err := commandfile.Parse([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const internalID = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
const publicID = "group.QUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEhoOD0="
const uuid = "5f6b1a2c-0d3e-4f50-8a61-7b2c3d4e5f60"

func TestCommandWithEverything(t *testing.T) {
	c := parse(t, `
[[command]]
name = "pogoda"
aliases = ["weather"]
help = "pogoda w mieście"
where = "group"
who = "admins"
people = ["5F6B1A2C-0d3e-4f50-8a61-7b2c3d4e5f60"]
groups = ["`+publicID+`", "`+internalID+`"]
cooldown = { user = "5s", user_group = "1m", group = 10, command = "1s", global = "500ms" }
timeout = "10s"
params = [{ name = "miasto", kind = "rest" }]

[command.http]
url = "https://api.example.org/{miasto}?who={sender_name}"
header = { X-Api-Key = { file = "/run/secrets/key" }, Accept-Language = "pl" }
as = "json"
template = "{data.0.title}: {{{data.0.value}}}"
allow_redirects = ["CDN.example.org:8443"]
`).Commands[0]
	if c.Line != 2 || c.Name != "pogoda" || c.Aliases[0] != "weather" || c.Help != "pogoda w mieście" || c.Where != commandfile.InGroups || !c.Admins || c.Timeout != 10*time.Second {
		t.Errorf("%+v", c)
	}
	if c.People[0] != uuid || c.Groups[0] != internalID || c.Groups[1] != internalID {
		t.Errorf("people %v, groups %v", c.People, c.Groups)
	}
	if want := (commandfile.Cooldown{User: 5 * time.Second, UserGroup: time.Minute, Group: 10 * time.Second, Command: time.Second, Global: 500 * time.Millisecond}); *c.Cooldown != want {
		t.Errorf("cooldown %+v", c.Cooldown)
	}
	if c.Params[0] != (asked.Param{Name: "miasto", Kind: asked.Rest}) {
		t.Errorf("params %+v", c.Params)
	}
	h := c.HTTP
	if h.Method != "GET" || h.As != commandfile.AsJSON || h.Redirects[0] != "cdn.example.org:8443" || fmt.Sprint(h.URL.Names()) != "[miasto sender_name]" {
		t.Errorf("http %+v", h)
	}
	if h.Header[0] != (commandfile.Setting{Name: "Accept-Language", Value: "pl"}) || h.Header[1] != (commandfile.Setting{Name: "X-Api-Key", File: "/run/secrets/key"}) {
		t.Errorf("header %+v", h.Header)
	}
	if got := h.Template.Fill(func(path string) string { return "<" + path + ">" }); got != "<data.0.title>: {<data.0.value>}" {
		t.Errorf("template %q", got)
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	f := parse(t, "[[command]]\nname = \"x\"\nhelp = \"x\"\ntext = \"\"\"\nraz\ndwa\n\"\"\"\n"+
		"[[command]]\nname = \"y\"\nhelp = \"y\"\ncooldown = \"1m\"\nchoice = [\"a\", { text = \"b\", weight = 3 }]\n"+
		"[[command]]\nname = \"z\"\nhelp = \"z\"\nexec = { run = [\"/bin/true\"] }\n")
	x, y, z := f.Commands[0], f.Commands[1], f.Commands[2]
	if x.Text != "raz\ndwa" || x.Where != commandfile.Anywhere || x.Admins || x.Cooldown != nil || x.Timeout != 0 {
		t.Errorf("%+v", x)
	}
	if *y.Cooldown != (commandfile.Cooldown{User: time.Minute}) || y.Choice[0].Weight != 1 || y.Choice[1] != (commandfile.Option{Text: "b", Weight: 3}) {
		t.Errorf("%+v", y)
	}
	if z.Exec.Dir != "/" || z.Exec.Run[0] != "/bin/true" {
		t.Errorf("%+v", z.Exec)
	}
}

func TestSchedule(t *testing.T) {
	f := parse(t, `
[[schedule]]
name = "poranek"
cron = "0 8 * * 1-5"
zone = "Europe/Warsaw"
chats = ["`+publicID+`", "`+uuid+`"]
command = "pogoda  Nowy Sącz "
missed = "once"

[[schedule]]
name = "wieczór"
cron = "@daily"
zone = "UTC"
chats = ["`+internalID+`"]
text = "dobranoc"
`)
	s := f.Schedules[0]
	if s.Line != 2 || s.Name != "poranek" || s.Command != "pogoda" || s.Words != "Nowy Sącz" || !s.Once || s.Late != time.Hour || s.Plan.String() != "0 8 * * 1-5 Europe/Warsaw" {
		t.Errorf("%+v", s)
	}
	if s.Chats[0].Group != internalID || s.Chats[1].User != uuid {
		t.Errorf("chats %+v", s.Chats)
	}
	if s = f.Schedules[1]; s.Text != "dobranoc" || s.Once || s.Late != 0 {
		t.Errorf("%+v", s)
	}
}

// Each case adds fields to a command that is well without them, or replaces it.
func TestFaultsOfACommand(t *testing.T) {
	for _, tt := range []struct{ add, says string }{
		{`name = "kot"`, "" /* twice: no TOML */},
		{`where = "groups"`, "line 5: command \"x\": where: must be one of both, group, direct"},
		{`who = "admin"`, "everyone, admins"},
		{`wher = "group"`, "line 5: command \"x\": wher: there is no such field here"},
		{`people = ["ala"]`, "no uuid"},
		{`people = []`, "leave it out"},
		{`groups = ["group.xyz"]`, "no id of a group"},
		{`groups = "x"`, "is a text, an array"},
		{"where = \"direct\"\ngroups = [\"" + internalID + "\"]", "leaves no group"},
		{`aliases = ["dwa słowa"]`, "' '"},
		{`aliases = ["X"]`, "is taken by command \"x\""},
		{`aliases = [1]`, "aliases.0: is a number"},
		{`cooldown = "5"`, "is no time"},
		{`cooldown = -1`, "must be between"},
		{`cooldown = "1000h"`, "must be between"},
		{`cooldown = 99999999999999`, "must be between"},
		{`cooldown = true`, "is no time"},
		{`cooldown = { users = "5s" }`, "cooldown: users: there is no such field here; there are command, global, group, user, user_group"},
		{`timeout = "0s"`, "must be between"},
		{`timeout = "1h"`, "must be between"},
		{`choice = ["a"]`, "must have one of text, choice, http, exec, and has 2"},
		{`params = [{ name = "a", kind = "words" }]`, "word, number, rest, person"},
		{`params = [{ name = "a", kind = "rest" }, { name = "b" }]`, "takes all that is left"},
		{`params = [{ name = "a", optional = "yes" }]`, "true or false is wanted"},
		{`params = [{ name = "a", kind = "number", min = 1.5, max = 2 }]`, "a whole number"},
		{`params = [{ name = "a", kind = "number", min = 3, max = 2 }]`, "at least 3 and at most 2"},
		{`params = [{ name = "a", kind = "number", min = 3 }]`, "go together"},
		{`params = [{ name = "a", min = 1, max = 2 }]`, "only a number"},
		{`params = [{ name = "words" }]`, "meaning of its own"},
		{`params = [{ name = "a b" }]`, "must be a word"},
		{`params = [7]`, "params.0: is a number, a table"},
	} {
		_, err := commandfile.Parse([]byte("[[command]]\nname = \"x\"\nhelp = \"x\"\ntext = \"x\"\n" + tt.add + "\n"))
		faults(t, tt.add, err, tt.says)
	}
}

func faults(t *testing.T, source string, err error, says string) {
	t.Helper()
	if _, ok := errors.AsType[commandfile.Faults](err); !ok || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "line ") {
		t.Errorf("%s:\n%v\nwant a line, and %q", source, err, says)
	}
}

func TestFaultsOfWhatItAnswers(t *testing.T) {
	for _, tt := range []struct{ answer, says string }{
		{``, "and has 0"},
		{`text = ""`, "text: is empty"},
		{`text = 1`, "is a number, a text is wanted"},
		{`text = "a\u0000"`, "NUL"},
		{`text = "` + strings.Repeat("a", commandfile.MaxText+1) + `"`, "65536 is the most"},
		{`choice = []`, "nothing to choose from"},
		{`choice = ["a", ""]`, "choice.1: has no text"},
		{`choice = [{ text = "a", weight = 0 }]`, "weight must be between"},
		{`choice = [{ text = "a", weight = 9999999999 }]`, "weight must be between"},
		{`choice = [{ texts = "a" }]`, "no such field"},
		{`exec = {}`, "whole path of a program"},
		{`exec = { run = ["ls"] }`, "whole path of a program"},
		{`exec = { run = "/bin/ls" }`, "an array"},
		{`exec = { run = ["/bin/ls"], dir = "tmp" }`, "dir: must be a whole path"},
		{`exec = { run = ["/bin/ls"], env = { "A B" = "x" } }`, "no name of a variable"},
		{`exec = { run = ["/bin/ls"], env = { A = { file = "key" } } }`, "whole path of a file"},
		{`exec = { run = ["/bin/ls"], shell = true }`, "no such field"},
		{`http = {}`, "url is missing"},
		{`http = { url = "ftp://example.org" }`, "is no address"},
		{`http = { url = "https:///x" }`, "is no address"},
		{`http = { url = "https://{words}/x" }`, "placeholder in its host"},
		{`http = { url = "https://example.org:{words}" }`, "address"},
		{`http = { url = "https://example.org{words}/" }`, "placeholder in its host"},
		{`http = { url = "https://a:b@example.org/" }`, "name or password"},
		{`http = { url = "https://example.org/#{words}" }`, "has a #"},
		{`http = { url = "https://example.org/{word}" }`, "{word} is neither a parameter"},
		{`http = { url = "https://example.org/{word0}" }`, "{word0} is neither a parameter"},
		{`http = { url = "https://example.org/{" }`, "a { without its }"},
		{`http = { url = "https://example.org/}" }`, "a } without its {"},
		{`http = { url = "https://example.org/", as = "html" }`, "text, json, picture, hook"},
		{`http = { url = "https://example.org/", as = "json" }`, "needs path or template"},
		{`http = { url = "https://example.org/", path = "a" }`, "takes no path"},
		{`http = { url = "https://example.org/", as = "json", path = "a..b" }`, "empty part"},
		{`http = { url = "https://example.org/", as = "json", path = "a", template = "{a}" }`, "exclude each other"},
		{`http = { url = "https://example.org/", as = "json", template = "{a.}" }`, "empty part"},
		{`http = { url = "https://example.org/", as = "picture", template = "{a}" }`, "takes no path"},
		{`http = { url = "https://example.org/", as = "hook", method = "GET" }`, "always posted"},
		{`http = { url = "https://example.org/", method = "PUT" }`, "GET, POST"},
		{`http = { url = "https://example.org/", method = "POST", allow_redirects = ["a.org"] }`, "never redirected"},
		{`http = { url = "https://example.org/", allow_redirects = ["https://a.org"] }`, "is no host"},
		{`http = { url = "https://example.org/", header = { "X Y" = "a" } }`, "no name of a header"},
		{`http = { url = "https://example.org/", header = { host = "a" } }`, "set by the bot"},
		{`http = { url = "https://example.org/", header = { X = "a\nb" } }`, "one line"},
		{`http = { url = "https://example.org/", header = { X = { env = "KEY" } } }`, "no such field"},
	} {
		_, err := commandfile.Parse([]byte("[[command]]\nname = \"x\"\nhelp = \"x\"\n" + tt.answer + "\n"))
		faults(t, tt.answer, err, tt.says)
	}
}

func TestFaultsOfASchedule(t *testing.T) {
	for _, tt := range []struct{ was, is, says string }{
		{`name = "s"`, ``, "name is missing"},
		{`cron = "0 8 * * *"`, `cron = "0 25 * * *"`, "line 3: schedule \"s\": cron: cron \"0 25 * * *\""},
		{`zone = "UTC"`, `zone = "Polska"`, "zone \"Polska\" is unknown"},
		{`zone = "UTC"`, ``, "zone is missing"},
		{`text = "x"`, ``, "one of text, command"},
		{`text = "x"`, "text = \"x\"\ncommand = \"y\"", "one of text, command"},
		{`text = "x"`, `command = "!kot"`, "without a prefix"},
		{`text = "x"`, "text = \"x\"\nlate = \"1h\"", "needs missed"},
		{`text = "x"`, "text = \"x\"\nmissed = \"all\"", "skip, once"},
		{`text = "x"`, "text = \"x\"\nmissed = \"once\"\nlate = \"5s\"", "must be between"},
		{`chats = ["` + uuid + `"]`, `chats = []`, "nobody to write to"},
		{`chats = ["` + uuid + `"]`, `chats = ["+48123456789"]`, "neither a group's id"},
	} {
		well := "[[schedule]]\nname = \"s\"\ncron = \"0 8 * * *\"\nzone = \"UTC\"\nchats = [\"" + uuid + "\"]\ntext = \"x\"\n"
		parse(t, well)
		_, err := commandfile.Parse([]byte(strings.Replace(well, tt.was, tt.is, 1)))
		faults(t, tt.is, err, tt.says)
	}
}

// All faults of a file are named at once, by their lines, without any secret.
func TestEveryFaultIsNamed(t *testing.T) {
	_, err := commandfile.Parse([]byte(`commands = 1

[[command]]
name = "a"
help = "a"
text = 1

[[command]]
name = "Ą"
where = "here"
[command.http]
url = "https://{x}/"
[command.http.header]
X-Key = "very
secret"
`))
	faults(t, "broken", err, "line 14")
	_, err = commandfile.Parse([]byte(`commands = 1

[[command]]
name = "a"
help = "a"
text = 1

[[command]]
name = "Ą"
where = "here"
[[command.params]]
name = "p"
[[command.params]]
kind = "number"
[command.http]
url = "https://{x}/"
[command.http.header]
Host = "very secret"

[[schedule]]
name = "s"
name2 = "t"
`))
	var got []int
	all, _ := errors.AsType[commandfile.Faults](err)
	for _, f := range all {
		got = append(got, f.Line)
	}
	if fmt.Sprint(got) != "[1 6 8 9 10 13 16 16 18 20 20 20 20 22]" || strings.Contains(err.Error(), "secret") {
		t.Errorf("lines %v:\n%v", got, err)
	}
}

func TestFileIsBounded(t *testing.T) {
	for name, source := range map[string]string{
		"bytes":      "# " + strings.Repeat("x", commandfile.MaxBytes),
		"commands":   strings.Repeat("[[command]]\n", commandfile.MaxCommands+1),
		"schedules":  strings.Repeat("[[schedule]]\n", commandfile.MaxSchedules+1),
		"a text":     "[[command]]\nname = \"x\"\nhelp = \"" + strings.Repeat("x", 301) + "\"\ntext = \"x\"",
		"deep":       "a" + strings.Repeat(".a", 60_000) + " = 1",
		"deep array": "a = " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
		"wide":       "command = [" + strings.Repeat("{},", 80_000) + "]",
	} {
		_, err := commandfile.Parse([]byte(source))
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		if text := err.Error(); len(text) > 20_000 {
			t.Errorf("%s: %d bytes of faults", name, len(text))
		}
	}
}

func TestEmptyFileIsOne(t *testing.T) {
	if f := parse(t, "# nothing yet\n"); len(f.Commands)+len(f.Schedules) != 0 {
		t.Errorf("%+v", f)
	}
}

// Notepad begins a file with a mark; the lines are counted all the same.
func TestFileMayBeginWithAByteOrderMark(t *testing.T) {
	const marked = "\uFEFF[[command]]\r\nname = \"a\"\r\nhelp = \"b\"\r\ntext = \"c\"\r\n"
	if f := parse(t, marked); len(f.Commands) != 1 || f.Commands[0].Line != 1 {
		t.Errorf("%+v", f)
	}
	if _, err := commandfile.Parse([]byte(marked + "tekst = 1\r\n")); err == nil || !strings.HasPrefix(err.Error(), "line 5: ") {
		t.Error(err)
	}
}

func TestTemplateTakesBracesApart(t *testing.T) {
	for source, want := range map[string]string{
		"":                 "",
		"a":                "a",
		"{a}":              "<a>",
		"{{a}}":            "{a}",
		"{a}{b} c {d.0.e}": "<a><b> c <d.0.e>",
		"{{{a}}}":          "{<a>}",
	} {
		tpl, err := commandfile.ParseTemplate(source)
		if err != nil {
			t.Errorf("%q: %v", source, err)
			continue
		}
		if got := tpl.Fill(func(name string) string { return "<" + name + ">" }); got != want {
			t.Errorf("%q gives %q, want %q", source, got, want)
		}
	}
	for _, source := range []string{"{", "}", "{a", "a}", "{}", "{a b}", "{a{b}", "{{a}"} {
		if tpl, err := commandfile.ParseTemplate(source); err == nil {
			t.Errorf("%q is taken as %v", source, tpl)
		}
	}
}
