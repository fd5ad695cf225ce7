package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

const closed = `<policy context="default"><allow user="*"/><allow send_destination="*"/><allow eavesdrop="true"/><deny own="*"/></policy>`

func mayOwn(t *testing.T, c *client.Conn) bool {
	t.Helper()
	reply, err := c.RequestName("a.b", 0)
	if err == nil && reply == 1 {
		_, err = c.ReleaseName("a.b")
		if err != nil {
			t.Fatal(err)
		}
	}
	return err == nil
}

// ReloadConfig answers when everybody is judged by the new policy.
func TestReloadConfigAnswersWhenItIsDone(t *testing.T) {
	p := newPlace(t, open)
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	for i := range 10 {
		policy, want := closed, false
		if i%2 == 1 {
			policy, want = open, true
		}
		p.write(t, "<listen>"+p.address()+"</listen>"+policy)
		if _, err := c.Driver("ReloadConfig", "", nil); err != nil {
			t.Fatal(err)
		}
		if got := mayOwn(t, c); got != want {
			t.Fatalf("reload %d: may own a name: %v", i, got)
		}
	}
}

func TestAFaultyFileChangesNothing(t *testing.T) {
	p := newPlace(t, closed)
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	p.write(t, "<listen>"+p.address()+"</listen>"+open+"<limit name=\"bogus\">1</limit>")
	if _, err := c.Driver("ReloadConfig", "", nil); err == nil || !strings.Contains(err.Error(), "bogus") {
		t.Errorf("error %v", err)
	}
	if mayOwn(t, c) {
		t.Error("the new policy counts")
	}
	if err := b.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the fault is logged again", func() bool { return strings.Count(b.said(), "the old one stays") >= 2 })
	if mayOwn(t, c) {
		t.Error("the new policy counts")
	}
}

// What a bus is told once, at its start, is not passed over in silence later.
func TestChangesThatNeedARestartAreLogged(t *testing.T) {
	p := newPlace(t, open)
	b := start(t, nil, "--config-file="+p.config)
	p.write(t, "<type>session</type><listen>"+p.address()+"2</listen>"+open)
	c := dial(t, b.address)
	if _, err := c.Driver("ReloadConfig", "", nil); err != nil {
		t.Fatal(err)
	}
	for _, element := range []string{"type", "listen"} {
		eventually(t, element, func() bool {
			return strings.Contains(b.said(), `needs a restart","service":"busd"`) && strings.Contains(b.said(), `"element":"`+element+`"`)
		})
	}
	if strings.Contains(b.said(), `"element":"pidfile"`) {
		t.Error(b.said())
	}
}

// Every client may have the configuration read again, and must not fill the log
// by that.
func TestWarningsAreLoggedOnceWhileTheyStay(t *testing.T) {
	const nobody, nowhere = "nobody-has-this-name", "nobody-has-that-name"
	unknown := func(name string) string { return `<policy user="` + name + `"><deny own="*"/></policy>` }
	p := newPlace(t, open+unknown(nobody))
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	reload := func(inside string) {
		t.Helper()
		p.write(t, inside)
		for range 3 {
			if _, err := c.Driver("ReloadConfig", "", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	listen := "<listen>" + p.address() + "</listen>"
	reload(listen + open + unknown(nobody))
	reload("<listen>unix:path=/elsewhere</listen>" + open + unknown(nobody) + unknown(nowhere))
	reload(listen + open)
	reload("<listen>unix:path=/elsewhere</listen>" + open + unknown(nobody))
	eventually(t, "the last of them is logged", func() bool { return strings.Count(b.said(), `"element":"listen"`) >= 2 })
	b.stop(t)
	for text, want := range map[string]int{nobody: 2, nowhere: 1, `"element":"listen"`: 2} {
		if got := strings.Count(b.said(), text); got != want {
			t.Errorf("%s: %d times, want %d, in\n%s", text, got, want, b.said())
		}
	}
}

func TestSIGHUPReloads(t *testing.T) {
	p := newPlace(t, "<policy context='default'/>")
	// Only the signal helps where what has changed is behind a link.
	other, link := filepath.Join(t.TempDir(), "included.conf"), filepath.Join(p.dir, "link.conf")
	if err := os.WriteFile(other, []byte("<busconfig>"+closed+"</busconfig>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	p.write(t, "<listen>"+p.address()+"</listen><include>"+link+"</include>")
	b := start(t, []string{"BUSD_LOG_LEVEL=INFO"}, "--config-file="+p.config)
	c := dial(t, b.address)
	if mayOwn(t, c) {
		t.Fatal("may own")
	}
	if err := os.WriteFile(other, []byte("<busconfig>"+open+"</busconfig>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new policy counts", func() bool { return mayOwn(t, c) })
}

// bus1/dbus-broker#202, #69, #206: what a package installs counts without
// anybody's doing.
func TestNewFilesAreSeen(t *testing.T) {
	p := newPlace(t, "<servicedir>DIR/services</servicedir>"+closed+"<includedir>DIR/policies</includedir>")
	for _, dir := range []string{"services", "policies"} {
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	if err := c.AddMatch("type='signal',member='ActivatableServicesChanged'"); err != nil {
		t.Fatal(err)
	}
	service := "[D-BUS Service]\nName=a.b\nExec=/bin/sh -c 'exit 7'\n"
	if err := os.WriteFile(filepath.Join(p.dir, "services", "a.b.service"), []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	c.Timeout = patience
	if m, err := c.Next(); err != nil || m.Member != "ActivatableServicesChanged" && m.Member != "NameAcquired" {
		t.Fatalf("%+v, %v", m, err)
	}
	eventually(t, "the service can be started", func() bool {
		_, err := c.Call(wire.Header{Path: "/", Interface: "a.b", Member: "C", Destination: "a.b"}, nil)
		return err != nil && strings.Contains(err.Error(), "Process a.b exited with status 7")
	})
	if mayOwn(t, c) {
		t.Fatal("may own")
	}
	if err := os.WriteFile(filepath.Join(p.dir, "policies", "a.conf"), []byte("<busconfig>"+open+"</busconfig>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !mayOwn(t, c) { // a program that is started right behind its installation
		t.Error("the new policy does not count")
	}
}

// A package brings a service and a policy, and who calls the service while the
// configuration is being read is not told that there is none.
func TestServicesThatComeWithAPolicyAreFoundMeanwhile(t *testing.T) {
	p := newPlace(t, "<servicedir>DIR/services</servicedir>"+open+"<include>DIR/slow.conf</include>")
	slow := filepath.Join(p.dir, "slow.conf")
	if err := errors.Join(os.Mkdir(filepath.Join(p.dir, "services"), 0o755), os.WriteFile(slow, []byte("<busconfig/>"), 0o644)); err != nil {
		t.Fatal(err)
	}
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	service := "[D-BUS Service]\nName=a.b\nExec=/bin/sh -c 'exit 7'\n"
	if err := os.WriteFile(filepath.Join(p.dir, "services", "a.b.service"), []byte(service), 0o644); err != nil {
		t.Fatal(err)
	}
	// Whoever reads this file waits for us.
	if err := errors.Join(syscall.Mkfifo(slow+".new", 0o600), os.Rename(slow+".new", slow)); err != nil {
		t.Fatal(err)
	}
	var read *os.File
	eventually(t, "the configuration is being read", func() (is bool) {
		var err error
		read, err = os.OpenFile(slow, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	for range 10 {
		_, err := c.Call(wire.Header{Path: "/", Interface: "a.b", Member: "C", Destination: "a.b"}, nil)
		if err == nil || !strings.Contains(err.Error(), "Process a.b exited with status 7") {
			t.Errorf("the call was answered with %v", err)
		}
	}
	if _, err := read.WriteString("<busconfig/>"); err != nil {
		t.Error(err)
	}
	read.Close()
	b.stop(t)
}

// Stock files include local ones, which an administrator makes when there is a
// need to.
func TestIncludesThatAppearAreSeen(t *testing.T) {
	p := newPlace(t, closed+`<include ignore_missing="yes">DIR/local.conf</include><includedir>DIR/local.d</includedir>`)
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	write := func(file, inside string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.dir, file), []byte("<busconfig>"+inside+"</busconfig>"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("local.conf", open)
	eventually(t, "the file that is there now counts", func() bool { return mayOwn(t, c) })
	if err := os.Mkdir(filepath.Join(p.dir, "local.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("local.d/a.conf", closed)
	eventually(t, "the folder that is there now counts", func() bool { return !mayOwn(t, c) })
}

// Also where it is a file that nothing has included before.
func TestAMendedFileIsReadAgain(t *testing.T) {
	p := newPlace(t, closed)
	b := start(t, nil, "--config-file="+p.config)
	c := dial(t, b.address)
	more := filepath.Join(p.dir, "more.conf")
	if err := os.WriteFile(more, []byte("<busconfig>"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.write(t, "<listen>"+p.address()+"</listen>"+closed+"<include>"+more+"</include>")
	eventually(t, "the fault is logged", func() bool { return strings.Contains(b.said(), more) })
	if err := os.WriteFile(more, []byte("<busconfig>"+open+"</busconfig>"), 0o644); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the mended file counts", func() bool { return mayOwn(t, c) })
}

// Units of Type=notify-reload wait for this.
func TestSystemdIsTold(t *testing.T) {
	p := newPlace(t, open)
	name := filepath.Join(p.dir, "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	hear := func(until string) {
		t.Helper()
		if err := systemd.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4096)
		for {
			n, err := systemd.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %s: %v", until, err)
			}
			if strings.Contains(string(buf[:n]), until) {
				return
			}
		}
	}
	b := start(t, []string{"NOTIFY_SOCKET=" + name}, "--config-file="+p.config)
	hear("READY=1")
	if err := b.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	hear("RELOADING=1\nMONOTONIC_USEC=")
	hear("READY=1")
	b.stop(t)
	hear("STOPPING=1")
}
