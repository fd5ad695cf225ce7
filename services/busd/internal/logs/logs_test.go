package logs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode"

	"quartet/services/busd/internal/logs"
)

func closeLog(t *testing.T, l *logs.Log) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return l.Close(ctx)
}

func TestLinesAreWrittenInOrderAndBeforeTheEnd(t *testing.T) {
	var out strings.Builder
	l := logs.Open(logs.Options{Stderr: &out, Level: slog.LevelInfo, Attrs: []slog.Attr{slog.String("service", "busd")}})
	with := l.With(slog.Int("a", 1)).WithGroup("g")
	for i := range 1000 {
		with.Info("line", slog.Int("n", i))
		l.Debug("not this")
	}
	if err := closeLog(t, l); err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(out.String()) {
		var got struct {
			Service string
			A       int
			G       struct{ N int }
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Service != "busd" || got.A != 1 || got.G.N != n {
			t.Fatalf("line %d: %s, %v", n, line, err)
		}
		n++
	}
	if n != 1000 {
		t.Errorf("%d lines", n)
	}
}

func TestNoControlCharacterIsWritten(t *testing.T) {
	var out strings.Builder
	l := logs.Open(logs.Options{Stderr: &out, Level: slog.LevelInfo})
	const text = "a\x1b[J\n\x7f\u009b2J\u0085é"
	l.Info(text)
	if err := closeLog(t, l); err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(out.String(), "\n")
	if strings.ContainsFunc(line, unicode.IsControl) {
		t.Errorf("written %q", line)
	}
	var got struct{ Msg string }
	if err := json.Unmarshal([]byte(line), &got); err != nil || got.Msg != text {
		t.Errorf("read back %q, %v", got.Msg, err)
	}
}

// Whoever logs never waits for whoever reads.
func TestAStuckReaderStopsNobody(t *testing.T) {
	read, write := io.Pipe()
	l := logs.Open(logs.Options{Stderr: write, Level: slog.LevelInfo})
	const lines = 20_000 // of a hundred bytes: many times what is queued
	for i := range lines {
		l.Info("a line that has some length, so that there are many bytes", slog.Int("n", i))
	}
	seen, lost := 0, 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for in := bufio.NewScanner(read); seen+lost < lines && in.Scan(); {
			var got struct{ Lines int }
			if err := json.Unmarshal(in.Bytes(), &got); err != nil {
				t.Error(err)
			}
			if lost += got.Lines; got.Lines == 0 {
				seen++
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("lines were lost without a word")
	}
	if err := closeLog(t, l); err != nil {
		t.Error(err)
	}
	if seen == 0 || lost == 0 || seen+lost != lines {
		t.Errorf("%d written and %d lost, of %d", seen, lost, lines)
	}
}

func TestTheEndDoesNotWaitForAStuckReader(t *testing.T) {
	_, write := io.Pipe()
	l := logs.Open(logs.Options{Stderr: write, Level: slog.LevelInfo})
	l.Info("never read")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := l.Close(ctx); err == nil {
		t.Error("no error")
	}
	l.Info("after the end")
}
