package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quartet/kit/journal/disk"
	"quartet/kit/timing"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/store"
)

// folder is what is in a folder, by name.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[path] = "a folder"
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// leave leaves in a folder what a bot had taken that was killed while it wrote.
func leave(t *testing.T, dir string) {
	t.Helper()
	in, err := timing.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := openState(disk.OS{}, config.Config{StateDir: dir, SpillBytes: 1 << 20}, in)
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if _, err := kept.ledger.Accept(&envelope.Message{Sender: ala, Timestamp: n + 1, Text: "!kot"}, time.Now(), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := kept.close(); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	f, err := os.OpenFile(logs[0], os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("half a rec")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What waits on disk is answered though nothing may wait there any more, and then
// the bot does without: no text stays there.
func TestWhatWaitsOnDiskIsAnsweredWithoutASpill(t *testing.T) {
	in, err := timing.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cfg := config.Config{StateDir: dir, SpillBytes: 1 << 20}
	kept, err := openState(disk.OS{}, cfg, in)
	if err != nil {
		t.Fatal(err)
	}
	m := &envelope.Message{Account: number, Sender: ala, GroupID: group, Timestamp: 7, Kind: envelope.KindText, Text: "!raz"}
	_, err = kept.ledger.Accept(m, time.Now(), true)
	if err := errors.Join(err, kept.spill.Push(m, time.Now()), kept.close()); err != nil {
		t.Fatal(err)
	}
	onDisk := func() bool {
		logs, err := filepath.Glob(filepath.Join(dir, "spill", "*.log"))
		return err != nil || slices.ContainsFunc(logs, func(path string) bool {
			text, _ := os.ReadFile(path) // it may be gone by now
			return strings.Contains(string(text), "!raz")
		})
	}
	if !onDisk() {
		t.Fatal("nothing waits on disk")
	}
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	s := newSignalServer(t)
	_, stop := startBot(t, s, "BOTD_STATE_DIR="+dir, "BOTD_SPILL_BYTES=0", "BOTD_COMMANDS_FILE="+file)
	select {
	case got := <-s.sent:
		if got != "jeden" {
			t.Errorf("answered %q", got)
		}
	case <-time.After(patience):
		t.Fatal("no answer")
	}
	for deadline := time.Now().Add(patience); onDisk(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("its text stays on disk")
		}
	}
	stop()
	cfg.SpillBytes = 0
	for _, dir := range []string{dir, t.TempDir()} {
		cfg.StateDir = dir
		if kept, err = openState(disk.OS{}, cfg, in); err != nil {
			t.Fatal(err)
		}
		if kept.spill != nil {
			t.Errorf("%s has a spill", dir)
		}
		if err := kept.close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(cfg.StateDir, "spill")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder for a spill that is not wanted: %v", err)
	}
}

// What check says of a folder is what a start would find, and looking changes
// nothing in it.
func TestCheckLooksAtTheStateAndLeavesItAsItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "commands.toml")
	write(t, file, twoCommands)
	for name, tt := range map[string]struct {
		prepare func(dir string)
		says    string
		fails   string // the error has that; "" for none
	}{
		"new":         {func(string) {}, "it is not there yet", ""},
		"empty":       {func(dir string) { _ = os.Mkdir(dir, 0o700) }, "answer: 0\n", ""},
		"used before": {func(dir string) { leave(t, dir) }, "answer: 3\n", ""},
		"without a lock": {func(dir string) {
			leave(t, dir)
			_ = os.Remove(filepath.Join(dir, "lock"))
		}, "answer: 3\n", ""},
		"in use": {func(dir string) {
			s := store.New(disk.OS{}, store.Options{Dir: dir})
			if err := s.Open(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
		}, "a bot that runs has it open", ""},
		"a file":       {func(dir string) { write(t, dir, "x") }, "a start would fail", "not a directory"},
		"below a file": {func(dir string) { write(t, filepath.Dir(dir), "x") }, "a start would fail", "not a directory"},
		"another's": {func(dir string) {
			s := store.New(disk.OS{}, store.Options{Dir: dir})
			if err := s.Open(); err != nil {
				t.Fatal(err)
			}
			_ = s.Append(store.Record{Book: '?', Data: []byte("x")})
			_ = s.Close()
		}, "a start would fail", "another program's"},
		"damaged": {func(dir string) {
			leave(t, dir)
			logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
			_ = os.Rename(logs[0], filepath.Join(dir, "00000000000000ff.log"))
		}, "a start would fail", "segment"},
	} {
		t.Run(name, func(t *testing.T) {
			around := t.TempDir()
			dir := filepath.Join(around, "a", "state")
			if name != "below a file" {
				_ = os.Mkdir(filepath.Dir(dir), 0o700)
			}
			tt.prepare(dir)
			before := folder(t, around)
			out, _, err := runBotd(t, offline(file, "BOTD_STATE_DIR="+dir), "check")
			if !strings.Contains(out, tt.says) || (err != nil) != (tt.fails != "") {
				t.Errorf("%v\n%s", err, out)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.fails) || !strings.Contains(err.Error(), "BOTD_STATE_DIR")) {
				t.Errorf("error %v", err)
			}
			if !maps.Equal(folder(t, around), before) {
				t.Error("something has changed")
			}
		})
	}
}
