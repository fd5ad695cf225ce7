package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quartet/kit/journal/disk"
	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/signalrpc"
	"quartet/services/botd/internal/transport"
)

// golden compares what was printed with a file, which -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		write(t, path, got)
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("not what %s has (%v); run this test with -update, and look at the difference. Printed:\n%s", path, err, got)
	}
}

func offline(file string, more ...string) []string {
	return append([]string{"BOTD_NUMBER=" + number, "BOTD_COMMANDS_FILE=" + file, "BOTD_GROUPS=" + group, "BOTD_ADMINS=" + admin, "BOTD_SIGNAL_URL=http://127.0.0.1:1"}, more...)
}

// Recorded frames, as REST and as JSON-RPC bring them, are answered by their own
// clock, and nobody is asked for anything. Whatever the age that may be answered
// is set to, what is recorded is older.
func TestReplayPrintsWhatWouldBeAnswered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	state := t.TempDir()
	for _, age := range []string{"10m", "1s", "20000h"} {
		out, errs, err := runBotd(t, offline(file, "BOTD_STATE_DIR="+state, "BOTD_MAX_AGE="+age), "replay", "testdata/frames.jsonl")
		if err != nil || errs != "" {
			t.Errorf("%v, %s", err, errs)
		}
		golden(t, "replay.golden", out)
	}
	if left, err := os.ReadDir(state); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestReplayReadsStdin(t *testing.T) {
	frames, err := os.Open("testdata/frames.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer frames.Close()
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	var out bytes.Buffer
	if err := replay(t.Context(), []string{"-"}, offline(file), frames, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	golden(t, "replay.golden", out.String())
}

func TestReplayThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	long := filepath.Join(t.TempDir(), "long")
	write(t, long, strings.Repeat("x", transport.MaxFrame+1))
	for _, tt := range []struct {
		args  []string
		usage bool
		says  string
	}{
		{[]string{"replay"}, true, "one file"},
		{[]string{"replay", "a", "b"}, true, "one file"},
		{[]string{"replay", "testdata/none"}, false, "no such file"},
		{[]string{"replay", long}, false, "read the frames"},
	} {
		if _, _, err := runBotd(t, offline(file), tt.args...); err == nil || errors.Is(err, errUsage) != tt.usage || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v", tt.args, err)
		}
	}
}

// manyCommands has a command with everything that limits its use, one that asks a
// server, and a schedule of it.
const manyCommands = `
[[command]]
name = "zebranie"
help = "kiedy jest zebranie"
where = "group"
who = "admins"
groups = ["` + group + `"]
cooldown = { user = "5s", user_group = "30s", group = "10s", command = "2s", global = "1s" }
text = "We wtorek."

[[command]]
name = "pies"
aliases = ["dog"]
help = "zdjęcie psa"
http = { url = "https://dog.example.org/random", as = "picture", path = "message" }

[[schedule]]
name = "pies na dziś"
cron = "0 15 * * fri"
zone = "Europe/Warsaw"
chats = ["` + group + `", "` + ala + `"]
command = "pies proszę"
`

var moment = regexp.MustCompile(`(?m)next .*$`)

// What the operator has set, in words, and what they may not have meant. It works
// beside a bot that runs with the same settings.
func TestCheckExplainsTheConfiguration(t *testing.T) {
	s := newSignalServer(t)
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	out, errs, err := runBotd(t, offline(file), "check")
	if err != nil || errs != "" {
		t.Errorf("%v, %s", err, errs)
	}
	golden(t, "check.golden", moment.ReplaceAllString(out, "next …"))
	more := filepath.Join(t.TempDir(), "more.toml")
	write(t, more, manyCommands)
	state := t.TempDir()
	environ := []string{"BOTD_NUMBER=" + number, "BOTD_COMMANDS_FILE=" + more, "BOTD_STATE_DIR=" + state, "BOTD_SYNC=always",
		"BOTD_GROUPS=*", "BOTD_DIRECT=false", "BOTD_SIGNAL_URL=tcp://127.0.0.1:7583", "BOTD_LANG=en", "BOTD_PREFIX=.,!", "BOTD_USER_AGENT=x (me@example.org)"}
	if out, _, err = runBotd(t, environ, "check"); err != nil {
		t.Error(err)
	}
	golden(t, "check_daemon.golden", strings.ReplaceAll(moment.ReplaceAllString(out, "next …"), state, "/state"))
	web := newWeb(t, nil)
	used := offline(file, "BOTD_STATE_DIR="+state, "BOTD_SIGNAL_URL="+s.URL, "BOTD_WEBHOOK_ADDR="+web) // as if by a bot that runs
	if out, _, err = runBotd(t, used, "check", "--connect"); err != nil || !strings.Contains(out, "the server is there and knows the account") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What a running bot has in its spool stays there, whatever else is done with its
// settings meanwhile; that check could not use the folder it says.
func TestSpoolOfARunningBotIsLeftAlone(t *testing.T) {
	spool := t.TempDir()
	environ := []string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=tcp://127.0.0.1:1", "BOTD_SPOOL_DIR=" + spool}
	runs, err := signalrpc.New(signalrpc.Options{Spool: spool})
	if err != nil {
		t.Fatal(err)
	}
	defer runs.Close()
	picture := filepath.Join(spool, "botd-spool", "kot-1.jpg")
	write(t, picture, "picture")
	for _, args := range [][]string{{"check"}, {"check", "--connect"}, {"profile", "Bot"}, {"link"}} {
		if _, _, err := runBotd(t, environ, args...); len(args) == 1 && args[0] == "check" && err != nil || err != nil && strings.Contains(err.Error(), "BOTD_SPOOL_DIR") {
			t.Errorf("%v: %v", args, err)
		}
		if _, err := os.Stat(picture); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	if _, _, err := runBotd(t, append(environ, "BOTD_ADMIN_ADDR=127.0.0.1:0", "BOTD_CAT_POOL=0")); !errors.Is(err, disk.ErrLocked) || !strings.Contains(err.Error(), "BOTD_SPOOL_DIR") {
		t.Errorf("another bot: %v", err)
	}
	environ[2] = "BOTD_SPOOL_DIR=" + picture
	if _, _, err := runBotd(t, environ, "check"); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "BOTD_SPOOL_DIR") {
		t.Errorf("a folder that is a file: %v", err)
	}
}

// As many commands as a file may have fit beside those that every bot has.
func TestCheckTakesAFullFile(t *testing.T) {
	full := filepath.Join(t.TempDir(), "full.toml")
	var all strings.Builder
	for n := range commandfile.MaxCommands {
		fmt.Fprintf(&all, "[[command]]\nname = \"c%d\"\nhelp = \"x\"\ntext = \"x\"\n", n)
	}
	write(t, full, all.String())
	if out, _, err := runBotd(t, offline(full), "check"); err != nil || !strings.Contains(out, "!c255") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCheckFindsFaults(t *testing.T) {
	s := newSignalServer(t)
	s.accounts = []string{"+15550199999"}
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	bad := filepath.Join(t.TempDir(), "bad.toml")
	write(t, bad, twoCommands+"\n[[command]]\nname = \"raz\"\nhelp = \"x\"\ntext = \"x\"\n")
	ours := filepath.Join(t.TempDir(), "ours.toml")
	write(t, ours, twoCommands+"\n[[command]]\nname = \"kici\"\naliases = [\"Cat\"]\nhelp = \"x\"\ntext = \"x\"\n")
	for _, tt := range []struct {
		environ []string
		args    []string
		usage   bool
		says    string
	}{
		{offline(file), []string{"check", "--conect"}, true, "--connect"},
		{offline(file, "BOTD_LIMIT=0"), []string{"check"}, true, "BOTD_LIMIT"},
		{offline(bad), []string{"check"}, true, "BOTD_COMMANDS_FILE"},
		{offline(ours), []string{"check"}, true, `line 19: command "kici": "Cat" is a name of the bot's own command "kot" already`},
		{offline(file), []string{"check", "--connect"}, false, "would not have us"},
		{offline(file, "BOTD_SIGNAL_URL="+s.URL), []string{"check", "--connect"}, false, "would not have us"},
	} {
		if _, _, err := runBotd(t, tt.environ, tt.args...); err == nil || errors.Is(err, errUsage) != tt.usage || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: %v", tt.args, err)
		}
	}
}

// What a schedule says goes to each of its chats; one that cannot be written to
// does not keep it from the others.
func TestScheduleIsSaidInAllItsChats(t *testing.T) {
	s := newSignalServer(t)
	log := &logBuffer{}
	w, stop := startWaiter(t, s, log)
	defer stop()
	chats := []commandfile.Chat{{Group: "not an id"}, {Group: group}, {User: ala}}
	w.fire(t.Context(), commandfile.Schedule{Name: "rano", Chats: chats, Text: "dzień dobry"})
	w.fire(t.Context(), commandfile.Schedule{Name: "lista", Chats: chats[1:2], Command: "pomoc"})
	w.fire(t.Context(), commandfile.Schedule{Name: "nic", Chats: chats[1:2], Command: "nic"})
	var got []string
	for len(s.sent) > 0 {
		got = append(got, <-s.sent)
	}
	if all := strings.Join(got, "|"); strings.Count(all, "dzień dobry") < 2 || !strings.Contains(all, "umiem") {
		t.Errorf("said %q", got)
	}
	if !strings.Contains(log.String(), `"schedule":"nic"`) || strings.Contains(log.String(), `"schedule":"lista"`) {
		t.Errorf("logged %s", log)
	}
	if err := context.Cause(t.Context()); err != nil {
		t.Error(err)
	}
}
