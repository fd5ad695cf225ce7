package bot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/transport"
)

// What a schedule has to say is a text or what a command answers, in parts where
// it is long, and quotes nothing.
func TestPostsAreTextsAndAnswers(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{Quote: true, Groups: []string{}}, repeat, picture("kot", cooldown.Limits{}))
	chat := transport.Chat{Group: home}
	for _, post := range [][2]string{{"good morning", ""}, {"", "!repeat it is eight"}, {"", "!kot"}, {strings.Repeat("słowo ", 500), ""}} {
		if err := r.Post(t.Context(), chat, post[0], post[1]); err != nil {
			t.Errorf("%q: %v", post, err)
		}
	}
	r.stop()
	out := s.sent()
	if len(out) != 5 || out[0].Text != "good morning" || out[1].Text != "it is eight" || out[2].Attachment == nil || len(out[3].Text) > transport.MaxText {
		t.Fatalf("posted %+v", out)
	}
	for _, o := range out {
		if o.Chat != chat || o.Quote != nil {
			t.Errorf("posted %+v", o)
		}
	}
	if n := r.count("quartet.request.duration", "operation", "_schedule"); n != 4 {
		t.Errorf("%d counted", n)
	}
}

// A post that cannot be is an error, and nothing goes out.
func TestPostThatCannotBe(t *testing.T) {
	s := newStage(true)
	boom := &command.Command{Name: "boom", Run: func(context.Context, command.Request) (command.Reply, error) { panic("boom") }}
	r := s.start(t, bot.Options{}, repeat, misfit(cooldown.Limits{}), boom)
	for call, says := range map[string]string{"!nothing": "no such command", "!repeat": "call repeat", "!miasto x": "look it up", "!boom": "panicked"} {
		if err := r.Post(t.Context(), transport.Chat{Group: home}, "", call); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", call, err)
		}
	}
	s.refuse(&transport.Error{Class: transport.ClassChat})
	for range 2 { // the second time it is known
		if err := r.Post(t.Context(), transport.Chat{Group: home}, "x", ""); err == nil {
			t.Error("posted where nobody may write")
		}
	}
	r.stop()
	if s.tried != 1 || len(s.sent()) != 0 {
		t.Errorf("%d tries, posted %q", s.tried, s.texts())
	}
}

// Where an admin has switched a command off, or had the bot leave, nothing of it is
// posted, and the command does not run, until that is taken back.
func TestPostHeedsWhatAdminsDecided(t *testing.T) {
	s := newStage(true)
	runs := 0
	c := *repeat
	c.Run = counting(&runs, repeat)
	r := s.start(t, bot.Options{EveryGroup: true}, &c)
	here, there, ela := transport.Chat{Group: home}, transport.Chat{Group: other}, transport.Chat{User: "ela"}
	post := func(chat transport.Chat, text, call string, posted bool) {
		t.Helper()
		if err := r.Post(t.Context(), chat, text, call); (err == nil) != posted {
			t.Errorf("posted %t: %v", !posted, err)
		}
	}
	decide := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	decide(r.Rules.SwitchOff("repeat", here))
	post(here, "", "!repeat off", false)
	post(here, "a text", "", true)
	post(there, "", "!repeat on", true)
	decide(r.Rules.SwitchOff("repeat", ela))
	post(ela, "", "!repeat off", false)
	decide(r.Rules.SwitchOn("repeat", here))
	post(here, "", "!repeat on again", true)
	decide(r.Rules.Forbid(home))
	post(here, "forbidden", "", false)
	post(here, "", "!repeat forbidden", false)
	decide(r.Rules.Allow(home))
	post(here, "allowed", "", true)
	r.stop()
	if got := s.texts(); runs != 2 || !slices.Equal(got, []string{"a text", "on", "on again", "allowed"}) {
		t.Errorf("%d ran, posted %q", runs, got)
	}
	if n := r.outcomes("rejected"); n != 4 {
		t.Errorf("%d rejected", n)
	}
}

// Pictures that are posted are among those that Signal rations: a post waits for
// its own, and people are told.
func TestPostedPicturesAreRationed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.out.PictureBurst, s.out.PictureEvery = 2, 4*time.Minute
		r := s.start(t, bot.Options{}, picture("kot", cooldown.Limits{}))
		began := time.Now()
		for n, want := range []time.Duration{0, 0, 4 * time.Minute} {
			if err := r.Post(t.Context(), transport.Chat{Group: home}, "", "!kot"); err != nil || time.Since(began) != want {
				t.Errorf("picture %d after %s, %v", n, time.Since(began), err)
			}
		}
		s.bring(frame{from: "ala", group: home, text: "!kot"})
		synctest.Wait()
		if texts := s.texts(); len(texts) != 4 || !strings.Contains(texts[3], "Za dużo zdjęć") {
			t.Errorf("sent %q", texts)
		}
		r.stop()
	})
}

// A picture for which there is no room for too long is not posted.
func TestPostGivesUpAPictureThatWaitsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.out.PictureBurst, s.out.PictureEvery = 1, time.Hour
		r := s.start(t, bot.Options{}, picture("kot", cooldown.Limits{}))
		for _, posted := range []bool{true, false} {
			if err := r.Post(t.Context(), transport.Chat{Group: home}, "", "!kot"); (err == nil) != posted {
				t.Errorf("posted %t: %v", !posted, err)
			}
		}
		r.stop()
		if n := len(s.sent()); n != 1 {
			t.Errorf("%d posted", n)
		}
	})
}

// A post waits for its chat's turn, and while Signal wants nothing.
func TestPostWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		s.slowly(t, func(transport.Outgoing) time.Duration { return time.Second })
		r := s.start(t, bot.Options{SendTimeout: 2 * time.Minute}, repeat)
		for n := range 3 {
			s.bring(frame{from: fmt.Sprint("p", n), group: home, text: "!repeat x"})
		}
		synctest.Wait()
		if err := r.Post(t.Context(), transport.Chat{Group: home}, "post", ""); err != nil {
			t.Error(err)
		}
		if got := s.texts(); !slices.Equal(got, []string{"x", "x", "x", "post"}) {
			t.Errorf("sent %q", got)
		}
		s.refuse(limit(time.Minute))
		s.bring(frame{from: "ala", group: home, text: "!repeat limited"})
		synctest.Wait()
		began := time.Now()
		if err := r.Post(t.Context(), transport.Chat{Group: other}, "after", ""); err != nil || time.Since(began) < time.Minute {
			t.Errorf("posted after %s, %v", time.Since(began), err)
		}
		r.stop()
		if got := s.texts(); len(got) != 5 || got[4] != "after" {
			t.Errorf("sent %q", got)
		}
	})
}
