package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const ala = "11111111-1111-4111-8111-111111111111"

// hangUp sends this process a SIGHUP, which no test may die of.
func hangUp(t *testing.T) {
	t.Helper()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	twoCommands = `
[[command]]
name = "raz"
help = "pierwsze"
text = "jeden"

[[command]]
name = "dwa"
help = "drugie"
text = "dwa"

[[schedule]]
name = "rano"
cron = "0 8 * * *"
zone = "Europe/Warsaw"
chats = ["` + group + `"]
text = "dzień dobry"
`
	otherCommands = `
[[command]]
name = "raz"
help = "pierwsze"
text = "pierwszy"

[[command]]
name = "trzy"
help = "trzecie"
text = "trzy"
`
)

// At SIGHUP the commands are those of the file as it is then, all of them; the log
// says what is different.
func TestReloadTakesTheFileWhole(t *testing.T) {
	s := newSignalServer(t)
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	log, _ := startBot(t, s, "BOTD_COMMANDS_FILE="+file)
	if got := s.ask(ala, group, "!raz"); got != "jeden" {
		t.Errorf("before: %q", got)
	}
	write(t, file, otherCommands)
	if got := s.ask(ala, group, "!raz"); got != "jeden" {
		t.Errorf("before it is told to: %q", got)
	}
	hangUp(t)
	log.await(t, 1, "commands read again")
	for text, want := range map[string]string{"!raz": "pierwszy", "!trzy": "trzy"} {
		if got := s.ask(ala, group, text); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	s.say(ala, group, "!dwa")
	if got := s.ask(ala, group, "!pomoc"); strings.Contains(got, "dwa") || !strings.Contains(got, "trzy") {
		t.Errorf("!dwa is answered, or listed:\n%s", got)
	}
	for _, change := range []string{`{"Name":"raz","What":"changed"}`, `{"Name":"trzy","What":"added"}`, `{"Name":"dwa","What":"removed"}`, `{"Name":"rano","What":"removed"}`} {
		if !strings.Contains(log.String(), change) {
			t.Errorf("%s is not in the log:\n%s", change, log)
		}
	}
}

// A file with a fault changes nothing, whatever else is in it, and the log says
// where the fault is. Nor does one that is gone.
func TestReloadWithAFaultChangesNothing(t *testing.T) {
	s := newSignalServer(t)
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	log, _ := startBot(t, s, "BOTD_COMMANDS_FILE="+file)
	bad := []struct{ text, says string }{
		{otherCommands + "\n[[command]]\nname = \"raz\"\ntext = \"again\"\n", "raz"},
		{otherCommands + "\n[[command]]\nname = \"cztery\"\ntest = \"mistyped\"\n", "line 14: command \\\"cztery\\\": test"},
		{otherCommands + "\n[[schedule]]\nname = \"x\"\ncron = \"@daily\"\nzone = \"UTC\"\nchats = [\"" + group + "\"]\ncommand = \"dwa\"\n", `there is no command \"dwa\"`},
		{otherCommands + "\n[[command]]\nname = \"kot\"\nhelp = \"x\"\ntext = \"ours\"\n", "kot"},
		{"[[command", "line 1"},
		{"", "no such file"},
	}
	for n, tt := range bad {
		write(t, file, tt.text)
		if tt.text == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		hangUp(t)
		log.await(t, n+1, "commands not read again")
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		said := ""
		for _, line := range lines {
			if strings.Contains(line, "commands not read again") {
				said = line
			}
		}
		if !strings.Contains(said, tt.says) || !strings.Contains(said, "BOTD_COMMANDS_FILE") || !strings.Contains(said, `"level":"ERROR"`) {
			t.Errorf("want %s in the log, it is %s", tt.says, said)
		}
		if got := s.ask(ala, group, "!raz"); got != "jeden" {
			t.Errorf("after fault %d: %q", n, got)
		}
		if got := s.ask(ala, group, "!dwa"); got != "dwa" {
			t.Errorf("after fault %d: %q", n, got)
		}
	}
	write(t, file, otherCommands)
	hangUp(t)
	log.await(t, 1, "commands read again")
	if got := s.ask(ala, group, "!raz"); got != "pierwszy" {
		t.Errorf("mended: %q", got)
	}
}

// What is under way at that moment ends as it began.
func TestReloadLetsWhatIsUnderWayEnd(t *testing.T) {
	began, let := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-let
		_, _ = w.Write([]byte(`{"text":"the old one"}`))
	})
	web := newWeb(t, slow)
	s := newSignalServer(t)
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, "[[command]]\nname = \"raz\"\nhelp = \"x\"\nhttp = { url = \"http://"+web+"/\", as = \"json\", path = \"text\" }\n")
	log, _ := startBot(t, s, "BOTD_COMMANDS_FILE="+file, "BOTD_UPSTREAM_ALLOW="+web)
	s.say(ala, group, "!raz")
	<-began
	write(t, file, otherCommands)
	hangUp(t)
	log.await(t, 1, "commands read again")
	if got := s.ask("22222222-1111-4111-8111-111111111111", group, "!raz"); got != "pierwszy" {
		t.Errorf("the new one answers %q", got)
	}
	close(let)
	if got := <-s.sent; got != "the old one" {
		t.Errorf("the old one answers %q", got)
	}
}

// The whole program, with admins who change it in chats and commands that fail:
// no level of the log has texts, names, numbers, uuids or groups.
func TestLogOfAWholeRunHasNoPersonalData(t *testing.T) {
	s := newSignalServer(t)
	web := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) }))
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands+"\n[[command]]\nname = \"szukaj\"\nhelp = \"x\"\nparams = [{ name = \"co\", kind = \"rest\" }]\nhttp = { url = \"http://"+web+"/?q={co}\", as = \"json\", path = \"text\" }\n")
	log, stop := startBot(t, s, "BOTD_COMMANDS_FILE="+file, "BOTD_UPSTREAM_ALLOW="+web, "BOTD_CAT_URL=http://"+web, "BOTD_COMMONS_URL=http://"+web,
		"BOTD_STATE_DIR="+t.TempDir(), "BOTD_ACK=typing")
	const word, elsewhere = "tajemnica", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	for n, text := range []string{"!kot", "!obraz " + word, "!szukaj " + word, "!raz " + word, "!ja " + word, "!status " + word, "!pomoc " + word, "!pomco " + word, "!zapomnij " + word} {
		s.ask(fmt.Sprint(ala[:len(ala)-1], n), group, text) // one person is not told of every failure
	}
	for _, text := range []string{"!ignoruj " + ala, "!słuchaj " + ala, "!dopuść " + elsewhere, "!opuść " + elsewhere, "!wyłącz raz", "!przerwa dwa 5", "!status", "!podsłuch wyłącz"} {
		s.ask(admin, "", text)
	}
	s.ask(ala, elsewhere, "!raz "+word) // an admin is told
	stop()
	log.await(t, 1, `"msg":"stopped"`)
	if n := strings.Count(log.String(), `"msg":"served"`); n < 15 {
		t.Errorf("only %d commands are in the log", n)
	}
	for _, secret := range []string{word, "Halinka", "Rodzinka", ala[:13], admin, number[1:], group, elsewhere} {
		if at := regexp.MustCompile(`.*` + regexp.QuoteMeta(secret) + `.*`).FindString(log.String()); at != "" {
			t.Errorf("%q is in the log: %s", secret, at)
		}
	}
}

// The admin commands work on the bot that runs.
func TestAdminsRunTheBotInChats(t *testing.T) {
	s := newSignalServer(t)
	dir := t.TempDir()
	log, stop := startBot(t, s, "BOTD_STATE_DIR="+dir, "BOTD_LANG=en")
	if got := s.ask(admin, "", "!status"); !strings.Contains(got, "REST, websocket") || !strings.Contains(got, "Ready: yes") {
		t.Errorf("status: %s", got)
	}
	if got := s.ask(admin, group, "!debug on"); !strings.Contains(got, "into my log") {
		t.Errorf("debug: %s", got)
	}
	s.ask(ala, group, "!me")
	log.await(t, 1, `"text":"!me"`)
	s.ask(admin, group, "!off me")
	if got := s.ask(ala, group, "!me"); !strings.Contains(got, "switched off") {
		t.Errorf("switched off: %s", got)
	}
	stop()
	_, _ = startBot(t, s, "BOTD_STATE_DIR="+dir, "BOTD_LANG=en")
	if got := s.ask(ala, group, "!me"); !strings.Contains(got, "switched off") {
		t.Errorf("after a restart: %s", got)
	}
	s.ask(admin, group, "!leave")
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		calls := strings.Join(s.calls, "\n")
		s.mu.Unlock()
		if strings.Contains(calls, "/quit") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not left: %s", calls)
		}
	}
}

// A bot whose server is away starts, says that it is not ready, and stops.
func TestBotWithoutAServerStops(t *testing.T) {
	log := &logBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, nil, []string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=http://127.0.0.1:1", "BOTD_ADMIN_ADDR=127.0.0.1:0", "BOTD_CAT_POOL=0"}, nil, log)
	}()
	log.await(t, 1, "not receiving")
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it did not stop")
	}
}

// asProgram has this test be botd, as its own process.
const asProgram = "BE_BOTD"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A SIGHUP ends the program at no time: while it starts it is seen to afterwards,
// and while it stops what is under way ends as it would.
func TestHangUpEndsNothing(t *testing.T) {
	s := newSignalServer(t)
	gone := make(chan struct{}, 1)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
		if strings.HasPrefix(r.URL.Path, "/v1/receive/") {
			gone <- struct{}{}
		}
	})
	began, let := make(chan struct{}), make(chan struct{})
	web := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-let
		_, _ = w.Write([]byte(`{"text":"the end"}`))
	}))
	slow := "[[command]]\nname = \"raz\"\nhelp = \"x\"\nhttp = { url = \"http://" + web + "/\", as = \"json\", path = \"text\" }\n"
	file := filepath.Join(t.TempDir(), "commands.toml")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	bot := exec.Command(os.Args[0])
	bot.Env = append(os.Environ(), asProgram+"=1", "BOTD_NUMBER="+number, "BOTD_SIGNAL_URL="+s.URL, "BOTD_ADMIN_ADDR=127.0.0.1:0", "BOTD_CAT_POOL=0",
		"BOTD_GROUPS="+group, "BOTD_COMMANDS_FILE="+file, "BOTD_UPSTREAM_ALLOW="+web, "BOTD_COMMAND_TIMEOUT=1m", "BOTD_DRAIN_TIMEOUT=1m")
	bot.Stderr = log
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bot.Wait() }()
	t.Cleanup(func() { _ = bot.Process.Kill() })
	signal := func(s os.Signal) {
		t.Helper()
		if err := bot.Process.Signal(s); err != nil {
			t.Errorf("%v: %v\n%s", s, err, log)
		}
	}
	starting, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0) // once the program has it open
	for deadline := time.Now().Add(patience); errors.Is(err, syscall.ENXIO) && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		starting, err = os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	signal(syscall.SIGHUP)
	write(t, file+".new", slow)
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	if _, err := starting.WriteString(twoCommands); err != nil {
		t.Error(err)
	}
	if err := starting.Close(); err != nil {
		t.Error(err)
	}
	log.await(t, 1, "commands read again")
	s.say(ala, group, "!raz")
	<-began
	signal(syscall.SIGTERM)
	<-gone
	for range 20 { // all that is to stop has, by the last of them
		time.Sleep(5 * time.Millisecond)
		signal(syscall.SIGHUP)
	}
	close(let)
	if err := <-ended; err != nil || len(s.sent) != 1 || <-s.sent != "the end" {
		t.Errorf("it ended with %v:\n%s", err, log)
	}
}
