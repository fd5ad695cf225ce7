package bot_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/transport"
)

// Our own words must not be answered, whatever is hidden in what comes back: or
// a bot that repeats what it hears talks to itself for ever.
func TestOwnWordsAreNotAnswered(t *testing.T) {
	const us, command = "99999999-9999-4999-8999-999999999999", "!repeat !repeat"
	for name, tt := range map[string]struct {
		before []frame
		echo   frame
	}{
		"with our number":                         {nil, frame{from: us, number: number, group: home, at: 77, text: command}},
		"without it, by when it was sent":         {nil, frame{from: us, group: home, at: sentAt(1), text: command}},
		"by the uuid that a sync message told":    {[]frame{{from: us, group: home, text: "hi", sync: true}}, frame{from: us, group: home, at: 77, text: command}},
		"by the uuid that came with the number":   {[]frame{{from: us, number: number, group: home, text: "hi"}}, frame{from: us, group: other, at: 77, text: command}},
		"as an edit, by that uuid":                {[]frame{{from: us, group: home, text: "hi", sync: true}}, frame{from: us, group: home, at: 77, edits: 76, text: command}},
		"from another device, which is a sync":    {nil, frame{from: us, group: home, at: 77, text: command, sync: true}},
		"with our number under another's account": {nil, frame{from: us, number: number, at: 77, text: command}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(true)
			r := s.start(t, bot.Options{}, repeat)
			s.bring(tt.before...)
			s.bring(frame{from: "ala", group: home, text: "!repeat " + command})
			r.eventually("said", func() bool { return len(s.sent()) == 1 })
			s.bring(tt.echo)
			s.last(r)
			r.stop()
			if got := s.texts(); !slices.Equal(got, []string{command, "last"}) {
				t.Errorf("sent %q", got)
			}
			if want := int64(1); !tt.echo.sync && r.dropped("own") < want {
				t.Error("not counted")
			}
		})
	}
}

// Somebody who wrote at the same moment in another chat is not us.
func TestSomebodyElsesWordsOfTheSameMomentAreAnswered(t *testing.T) {
	s := newStage(true)
	r := s.start(t, bot.Options{}, repeat)
	s.bring(frame{from: "ala", group: home, text: "!repeat a"})
	r.eventually("said", func() bool { return len(s.sent()) == 1 })
	s.bring(frame{from: "ela", group: other, at: sentAt(1), text: "!repeat b"})
	r.answered(s.daemon, "a", "b")
	r.stop()
}

// A receipt of the asker's, for a message that we do not know to have sent, at the
// time when theirs was being sent, says that it arrived.
func TestReceiptSettlesAnUnknownAnswer(t *testing.T) {
	now := func() []int64 { return []int64{time.Now().UnixMilli()} }
	for name, tt := range map[string]struct {
		receipt func() frame
		settles bool
	}{
		"the asker's":               {func() frame { return frame{from: "ala", receipts: now()} }, true},
		"one of several":            {func() frame { return frame{from: "ala", receipts: append([]int64{1, 2}, now()...)} }, true},
		"somebody else's":           {func() frame { return frame{from: "ela", receipts: now()} }, false},
		"for another time":          {func() frame { return frame{from: "ala", receipts: []int64{time.Now().Add(-time.Hour).UnixMilli()}} }, false},
		"for what is known to be":   {func() frame { return frame{from: "ala", receipts: []int64{sentAt(1)}} }, false},
		"for nothing in particular": {func() frame { return frame{from: "ala", receipts: []int64{}} }, false},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := newStage(true)
				s.sendWith(func(_ context.Context, o transport.Outgoing) error {
					if o.Text == "x" {
						return transport.ErrOutcomeUnknown
					}
					return nil
				})
				r := s.start(t, bot.Options{}, repeat)
				s.bring(frame{from: "ala", group: home, text: "!repeat x"})
				r.eventually("unknown", func() bool { return r.sum("quartet.botd.send.unknown") == 1 })
				if restart {
					r.stop()
					r = s.start(t, bot.Options{}, repeat)
				}
				s.last(r)
				s.bring(tt.receipt())
				s.bring(tt.receipt())
				s.last(r)
				want := map[bool]float64{true: 1}[tt.settles]
				if got := r.sum("quartet.botd.send.settled"); got != want {
					t.Errorf("%v settled", got)
				}
				if got := r.Status(t.Context()).Unknown; got != map[bool]int{false: 1 - int(want)}[restart] {
					t.Errorf("%d are unknown", got)
				}
				r.stop()
			})
		}
	}
}

// After a restart nobody knows what else went out. What did before the answer was
// begun is not that answer.
func TestReceiptForAnotherAnswerOfAnEarlierLifeSettlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		r := s.start(t, bot.Options{}, repeat)
		another := time.Now().UnixMilli()
		s.bring(frame{from: "ela", group: home, text: "!repeat for ela"})
		r.answered(s.daemon, "for ela")
		time.Sleep(3 * time.Second)
		s.refuse(transport.ErrOutcomeUnknown)
		its := time.Now().UnixMilli()
		s.bring(frame{from: "ala", group: home, text: "!repeat for ala"})
		r.eventually("unknown", func() bool { return r.sum("quartet.botd.send.unknown") == 1 })
		r.stop()
		r = s.start(t, bot.Options{}, repeat)
		time.Sleep(time.Minute)
		for _, tt := range []struct {
			receipt int64
			settled float64
		}{{another, 0}, {its + 10, 1}} {
			s.bring(frame{from: "ala", receipts: []int64{tt.receipt}})
			synctest.Wait()
			if got := r.sum("quartet.botd.send.settled"); got != tt.settled {
				t.Errorf("%v settled, want %v", got, tt.settled)
			}
		}
		r.stop()
	})
}
