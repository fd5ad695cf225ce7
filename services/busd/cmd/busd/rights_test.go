package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"quartet/services/busd/internal/wire"
)

// status is a line of proc(5), such as Uid.
func status(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, name+":"); is {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	t.Fatalf("process %d has no %s", pid, name)
	return ""
}

// The bus and what it starts run as <user>, and only the bus with fewer rights
// than that: a program may well have use for setuid.
func TestTheUserIsTakenOnByTheBusAndItsPrograms(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil || os.Getuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("needs root and a user nobody")
		}
		t.Skip("needs root and a user nobody")
	}
	p := newPlace(t, "<user>nobody</user><pidfile>DIR/pid</pidfile><servicedir>DIR</servicedir>"+open)
	if err := os.Chmod(p.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(p.dir, "out")
	service := "[D-BUS Service]\nName=a.b\nExec=/bin/sh -c 'grep -E \"^(Uid|Groups|NoNewPrivs|Seccomp):\" /proc/self/status > " + out + "; exit 5'\n"
	if err := os.WriteFile(filepath.Join(p.dir, "a.b.service"), []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	b := start(t, nil, "--config-file="+p.config)
	want := strings.Join([]string{nobody.Uid, nobody.Uid, nobody.Uid, nobody.Uid}, " ")
	if got := status(t, b.cmd.Process.Pid, "Uid"); got != want {
		t.Errorf("the bus is %s, want %s", got, want)
	}
	for name, want := range map[string]string{"CapEff": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"} {
		if got := status(t, b.cmd.Process.Pid, name); got != want {
			t.Errorf("the bus has %s %s, want %s", name, got, want)
		}
	}
	c := dial(t, b.address)
	c.Timeout = patience
	if _, err := c.Call(wire.Header{Path: "/", Interface: "a.b", Member: "C", Destination: "a.b"}, nil); err == nil || !strings.Contains(err.Error(), "status 5") {
		t.Fatalf("error %v", err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(string(text)), " "); !strings.Contains(got, "Uid: "+want) || !strings.Contains(got, "NoNewPrivs: 0 Seccomp: 0") {
		t.Errorf("the program is %s", got)
	}
	b.stop(t)
	if exists(p.dir + "/pid") {
		t.Error("the pid file is still there")
	}
}

func TestAUserWhoIsNotThereIsRefused(t *testing.T) {
	p := newPlace(t, "<user>nobody-has-this-name</user>"+open)
	if code, said := fails(t, nil, "--config-file="+p.config, "--nofork"); code != 1 || !strings.Contains(said, "nobody-has-this-name") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// Where the setuid helper starts programs nobody says what is in their
// environment, whatever type of bus that is, and whenever it got the helper.
func TestAHelpersEnvironmentIsNobodysToChange(t *testing.T) {
	const helper = "<type>mine</type><servicehelper>/bin/false</servicehelper>" + open
	p := newPlace(t, helper)
	c := dial(t, start(t, nil, "--config-file="+p.config).address)
	update := func() error {
		_, err := c.Driver("UpdateActivationEnvironment", "a{ss}", func(e *wire.Encoder) { e.CloseArray(e.OpenArray(8)) })
		return err
	}
	reload := func(inside string) {
		t.Helper()
		p.write(t, "<listen>"+p.address()+"</listen>"+inside)
		if _, err := c.Driver("ReloadConfig", "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := update(); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("from the start: error %v", err)
	}
	reload("<type>mine</type>" + open)
	if err := update(); err != nil {
		t.Errorf("without the helper: %v", err)
	}
	reload(helper)
	if err := update(); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("with one again: error %v", err)
	}
}
