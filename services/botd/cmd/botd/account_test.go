package main

import (
	"errors"
	"strings"
	"testing"

	"rsc.io/qr"
)

// modules reads a printed code back: two rows of it a line.
func modules(t *testing.T, lines []string) (black [][]bool) {
	t.Helper()
	for _, line := range lines {
		var above, below []bool
		for _, r := range line {
			at := strings.IndexRune("█▀▄ ", r)
			if at < 0 {
				t.Fatalf("%q is no part of a code", r)
			}
			n := strings.Count("█▀▄ "[:at], "") - 1 // the sign's number
			above, below = append(above, n >= 2), append(below, n%2 == 1)
		}
		black = append(black, above, below)
	}
	return black
}

// The code on the terminal is that of the link, with its blank margin, and the
// link stands under it for who cannot scan.
func TestLinkShowsACode(t *testing.T) {
	s := newSignalServer(t)
	s.accounts, s.linked = nil, number
	out, _, err := runBotd(t, []string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=" + s.URL}, "link", "kuchnia")
	if err != nil {
		t.Fatal(err)
	}
	const uri = "sgnl://linkdevice?uuid=u&pub_key=k&as=kuchnia"
	if !strings.Contains(out, "\n"+uri+"\n") || !strings.HasSuffix(out, "linked as \"kuchnia\"\n") || !strings.Contains(out, "Linked devices") {
		t.Errorf("printed:\n%s", out)
	}
	picture, _, _ := strings.Cut(out, "\n\n")
	got := modules(t, strings.Split(picture, "\n"))
	want, err := qr.Encode(uri, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	const margin = 4
	if len(got) < want.Size+2*margin || len(got[0]) != want.Size+2*margin {
		t.Fatalf("%d x %d modules for a code of %d", len(got), len(got[0]), want.Size)
	}
	for y, row := range got {
		for x, black := range row {
			if black != want.Black(x-margin, y-margin) {
				t.Fatalf("module %d,%d is wrong in:\n%s", x, y, picture)
			}
		}
	}
}

// A link that is too long for a code can still be pasted.
func TestLinkTooLongForACodeIsShown(t *testing.T) {
	var out strings.Builder
	long := "sgnl://" + strings.Repeat("x", 5000)
	showCode(&out, long)
	if out.String() != long+"\n" {
		t.Errorf("printed %.100q", out.String())
	}
}

func TestLinkThatCannotBe(t *testing.T) {
	s := newSignalServer(t)
	other := newSignalServer(t)
	other.accounts, other.linked = nil, "+15550199999"
	for _, tt := range []struct {
		environ, args []string
		usage         bool
		says          string
	}{
		{[]string{"BOTD_NUMBER=" + number}, []string{"link", "a", "b"}, true, "one name"},
		{nil, []string{"link"}, true, "BOTD_NUMBER"},
		{[]string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=" + s.URL}, []string{"link"}, false, "already"},
		{[]string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=" + other.URL}, []string{"link"}, false, "BOTD_NUMBER"},
		{[]string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=http://127.0.0.1:1"}, []string{"link"}, false, "refused"},
	} {
		if out, _, err := runBotd(t, tt.environ, tt.args...); err == nil || errors.Is(err, errUsage) != tt.usage || !strings.Contains(err.Error(), tt.says) || strings.Contains(out, "linked as") {
			t.Errorf("%v: %v\n%s", tt.args, err, out)
		}
	}
}

// A new number gets its name, also beside a bot that runs with a webhook.
func TestProfileSetsTheName(t *testing.T) {
	s := newSignalServer(t)
	web := newWeb(t, nil)
	out, _, err := runBotd(t, []string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=" + s.URL, "BOTD_WEBHOOK_ADDR=" + web}, "profile", "Bot Kotów")
	if err != nil || !strings.Contains(out, `"Bot Kotów"`) {
		t.Errorf("%v, %s", err, out)
	}
	if calls := strings.Join(s.calls, "\n"); !strings.Contains(calls, "PUT /v1/profiles/"+number) || !strings.Contains(calls, `"name":"Bot Kotów"`) {
		t.Errorf("called %s", calls)
	}
	for _, args := range [][]string{{"profile"}, {"profile", " "}, {"profile", "--help"}, {"profile", "a", "b"}, {"link", "--help"}} {
		if _, _, err := runBotd(t, []string{"BOTD_NUMBER=" + number, "BOTD_SIGNAL_URL=" + s.URL}, args...); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
