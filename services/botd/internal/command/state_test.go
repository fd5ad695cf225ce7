package command_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

func TestStatusSaysTheState(t *testing.T) {
	state := said.State{Up: time.Hour, Transport: "websocket", Answered: 7, Send: said.Spread{Sum: time.Second}}
	for _, lang := range []said.Lang{said.Polish, said.English} {
		status := command.Status(lang, func(context.Context) said.State { return state })
		reply, err := ask(t, status, asBoss, "")
		says(t, reply, err, lang.State(state))
	}
}

func TestPodsluchBeginsOnceItWasSaidAndEndsByItself(t *testing.T) {
	warsaw := time.FixedZone("CET", 3600)
	asBoss := asBoss
	asBoss.At = time.Date(2026, 5, 6, 23, 8, 59, 0, warsaw)
	until := time.Date(2026, 5, 7, 0, 8, 0, 0, warsaw)
	for _, lang := range []said.Lang{said.Polish, said.English} {
		for _, typed := range []string{"włącz", "WLACZ", "on"} {
			var chat transport.Chat
			var end time.Time
			podsluch := command.Podsluch(lang, "?", func(c transport.Chat, u time.Time) func() { return func() { chat, end = c, u } })
			reply, err := ask(t, podsluch, asBoss, typed)
			says(t, reply, err, in(lang, "Do 00:08 CET ", "Until 00:08 CET "))
			says(t, reply, err, lang.DebugOn(until, in(lang, "?podsłuch wyłącz", "?debug off")))
			if !end.IsZero() {
				t.Error("texts are logged before anybody was told")
			}
			if err := reply.After(t.Context()); err != nil || chat != asBoss.Chat || !end.Equal(until) {
				t.Errorf("%+v until %v, %v", chat, end, err)
			}
		}
	}
}

func TestPodsluchEndsAtOnce(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		for _, typed := range []string{"wyłącz", "off"} {
			end := time.Unix(1, 0)
			podsluch := command.Podsluch(lang, "!", func(_ transport.Chat, u time.Time) func() { end = u; return func() {} })
			reply, err := ask(t, podsluch, asBoss, typed)
			says(t, reply, err, lang.DebugOff())
			if !end.IsZero() || reply.After != nil {
				t.Errorf("until %v", end)
			}
		}
	}
}

func TestPodsluchSaysWhenEnoughChatsAreLogged(t *testing.T) {
	for _, lang := range []said.Lang{said.Polish, said.English} {
		podsluch := command.Podsluch(lang, "!", func(transport.Chat, time.Time) func() { return nil })
		reply, err := ask(t, podsluch, asBoss, "on")
		says(t, reply, err, lang.DebugFull())
		if reply.After != nil {
			t.Error("something is to follow")
		}
	}
}

func TestPodsluchTakesNothingElse(t *testing.T) {
	for typed, want := range map[string]asked.Reason{"": asked.Missing, "może": asked.Unfit, "on off": asked.TooMany} {
		_, err := ask(t, command.Podsluch(said.Polish, "!", nil), asBoss, typed)
		if m, ok := errors.AsType[*asked.Misfit](err); !ok || m.Reason != want {
			t.Errorf("%q: %v", typed, err)
		}
	}
}
