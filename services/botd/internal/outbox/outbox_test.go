package outbox_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/outbox"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

var (
	group  = transport.Chat{Group: "g"}
	direct = transport.Chat{User: "ala"}
)

// server refuses what it is told to, one error a send; then it sends.
type server struct {
	mu       sync.Mutex
	refusals []error // guarded by mu, as all below
	sent     []transport.Outgoing
	tries    int
	trusted  []string
	profile  string
	account  error // what Check says
	checks   int
	onCheck  func(context.Context) error // nil says account
}

func (s *server) Send(_ context.Context, o transport.Outgoing) (transport.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if len(s.refusals) > 0 {
		err := s.refusals[0]
		s.refusals = s.refusals[1:]
		if err != nil {
			return transport.Receipt{}, err
		}
	}
	s.sent = append(s.sent, o)
	return transport.Receipt{Timestamp: int64(s.tries)}, nil
}

func (s *server) React(context.Context, transport.Reaction) error    { return nil }
func (s *server) Typing(context.Context, transport.Chat, bool) error { return nil }
func (s *server) Leave(context.Context, string) error                { return nil }
func (s *server) DeleteAttachment(context.Context, string) error     { return nil }
func (s *server) Trust(_ context.Context, who string) error {
	s.trusted = append(s.trusted, who)
	return nil
}
func (s *server) SetProfile(_ context.Context, p transport.Profile) error {
	s.profile = p.Name
	return nil
}

func (s *server) Check(ctx context.Context) ([]transport.Warning, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks++
	if s.onCheck != nil {
		return nil, s.onCheck(ctx)
	}
	return nil, s.account
}

func (s *server) refuse(errs ...error) {
	s.mu.Lock()
	s.refusals = append(s.refusals, errs...)
	s.mu.Unlock()
}

func newOutbox(t *testing.T, s *server, o outbox.Options) *outbox.Outbox {
	o.RatePause = time.Minute
	return outbox.New(outbox.Parts{
		Signal:    s,
		OnRefused: func(context.Context, transport.Class) {},
		Shrink: func(_ context.Context, p upstream.Picture) (upstream.Picture, error) {
			return upstream.Picture{ContentType: "image/jpeg", Data: p.Data[:len(p.Data)/2]}, nil
		},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}, o)
}

func refused(class transport.Class) *transport.Error {
	return &transport.Error{Class: class, Text: "no"}
}

// Each class of refusal has what follows from it, and what may have arrived is
// never tried again.
func TestWhatFollowsFromARefusal(t *testing.T) {
	picture := &transport.Attachment{ContentType: "image/png", Filename: "kot.png", Data: []byte("12345678")}
	untrusted := refused(transport.ClassIdentity)
	untrusted.Failed = []transport.Failure{{Recipient: "ela", Reason: "IDENTITY_FAILURE"}, {Recipient: "ola", Reason: "NETWORK_FAILURE"}}
	partly := refused(transport.ClassIdentity)
	partly.Reached = 1
	all := outbox.Options{Trust: true, Profile: transport.Profile{Name: "Bot"}}
	for _, tt := range []struct {
		name    string
		options outbox.Options
		refusal *transport.Error
		out     transport.Outgoing
		tries   int
		after   func(o *outbox.Outbox, s *server) bool
	}{
		{"a bug of ours is not repeated", all, refused(transport.ClassBug), transport.Outgoing{Chat: group}, 1, nil},
		{"a chat that refuses us is parked", all, refused(transport.ClassChat), transport.Outgoing{Chat: group}, 1,
			func(o *outbox.Outbox, _ *server) bool {
				return o.Parked(group) && !o.Parked(direct) && o.Paused() == nil
			}},
		{"a rate limit pauses everything and is not repeated", all, refused(transport.ClassRateLimit), transport.Outgoing{Chat: group}, 1,
			func(o *outbox.Outbox, _ *server) bool { return errors.Is(o.Paused(), outbox.ErrPaused) }},
		{"a missing account pauses everything", all, refused(transport.ClassAccount), transport.Outgoing{Chat: group}, 1,
			func(o *outbox.Outbox, _ *server) bool { return errors.Is(o.Paused(), outbox.ErrPaused) }},
		{"a new key is trusted where that is allowed", all, untrusted, transport.Outgoing{Chat: group}, 2,
			func(_ *outbox.Outbox, s *server) bool { return len(s.trusted) == 1 && s.trusted[0] == "ela" }},
		{"in a direct chat it is clear whose", all, refused(transport.ClassIdentity), transport.Outgoing{Chat: direct}, 2,
			func(_ *outbox.Outbox, s *server) bool { return len(s.trusted) == 1 && s.trusted[0] == "ala" }},
		{"in a group it is not", all, refused(transport.ClassIdentity), transport.Outgoing{Chat: group}, 1, nil},
		{"and not where it is not allowed", outbox.Options{}, untrusted, transport.Outgoing{Chat: group}, 1,
			func(_ *outbox.Outbox, s *server) bool { return len(s.trusted) == 0 }},
		{"what some have got is not repeated", all, partly, transport.Outgoing{Chat: direct}, 1, nil},
		{"too large a picture is tried smaller", all, refused(transport.ClassTooLarge), transport.Outgoing{Chat: group, Attachment: picture}, 2,
			func(_ *outbox.Outbox, s *server) bool {
				return len(s.sent) == 1 && string(s.sent[0].Attachment.Data) == "1234" && s.sent[0].Attachment.Filename == "picture.jpg" && len(picture.Data) == 8
			}},
		{"a text cannot be made smaller", all, refused(transport.ClassTooLarge), transport.Outgoing{Chat: group, Text: "x"}, 1, nil},
		{"a name is set where it is missing", all, refused(transport.ClassProfile), transport.Outgoing{Chat: group}, 2,
			func(_ *outbox.Outbox, s *server) bool { return s.profile == "Bot" }},
		{"without a name there is nothing to set", outbox.Options{}, refused(transport.ClassProfile), transport.Outgoing{Chat: group}, 1, nil},
		{"a bad moment may have been a good one", all, refused(transport.ClassTransient), transport.Outgoing{Chat: group}, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &server{}
			s.refuse(tt.refusal)
			o := newOutbox(t, s, tt.options)
			_, err := o.Send(t.Context(), tt.out)
			if s.tries != tt.tries || (err == nil) != (tt.tries == 2) {
				t.Errorf("%d tries, then %v", s.tries, err)
			}
			if tt.after != nil && !tt.after(o, s) {
				t.Error("not what follows from it")
			}
		})
	}
}

func TestOneMoreTryIsTheLast(t *testing.T) {
	s := &server{}
	s.refuse(refused(transport.ClassProfile), refused(transport.ClassProfile))
	o := newOutbox(t, s, outbox.Options{Profile: transport.Profile{Name: "Bot"}})
	if _, err := o.Send(t.Context(), transport.Outgoing{Chat: group}); err == nil || s.tries != 2 {
		t.Errorf("%d tries, then %v", s.tries, err)
	}
}

// The pause doubles while the limit goes on, and begins anew after a success.
// What Signal asks for counts where it is more.
func TestPauseGrowsWhileTheLimitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		o := newOutbox(t, s, outbox.Options{})
		pause := func(asked time.Duration) time.Duration {
			limit := refused(transport.ClassRateLimit)
			limit.RetryAfter = asked
			s.refuse(limit)
			if _, err := o.Send(t.Context(), transport.Outgoing{Chat: group}); err == nil {
				t.Fatal("sent")
			}
			began := time.Now()
			if err := o.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			if got := pause(0); got != want {
				t.Errorf("paused for %v, want %v", got, want)
			}
		}
		if got := pause(24 * time.Hour); got != 24*time.Hour {
			t.Errorf("paused for %v, asked for a day", got)
		}
		if _, err := o.Send(t.Context(), transport.Outgoing{Chat: group}); err != nil {
			t.Fatal(err)
		}
		if got := pause(0); got != time.Minute {
			t.Errorf("paused for %v after a success", got)
		}
		for range 20 {
			pause(0)
		}
		if got := pause(0); got != time.Hour {
			t.Errorf("paused for %v in the end", got)
		}
	})
}

// Who has solved a captcha need not wait for the end of the pause.
func TestPauseCanBeEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		o := newOutbox(t, s, outbox.Options{})
		s.refuse(refused(transport.ClassRateLimit))
		_, _ = o.Send(t.Context(), transport.Outgoing{Chat: group})
		began := time.Now()
		time.AfterFunc(10*time.Second, o.Retry)
		if err := o.Wait(t.Context()); err != nil || time.Since(began) > 12*time.Second {
			t.Errorf("waited %v, %v", time.Since(began), err)
		}
	})
}

// Several messages that were under way together are limited once.
func TestMessagesOfOneMomentAreOneStrike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		o := newOutbox(t, s, outbox.Options{})
		for range 8 {
			s.refuse(refused(transport.ClassRateLimit))
		}
		for range 8 {
			_, _ = o.Send(t.Context(), transport.Outgoing{Chat: group})
		}
		began := time.Now()
		if err := o.Wait(t.Context()); err != nil || time.Since(began) != time.Minute {
			t.Errorf("waited %v, %v", time.Since(began), err)
		}
	})
}

// A missing account is looked for, by one of those who wait, until it is there.
func TestMissingAccountIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{account: errors.New("our account is not there")}
		o := newOutbox(t, s, outbox.Options{})
		s.refuse(refused(transport.ClassAccount))
		_, _ = o.Send(t.Context(), transport.Outgoing{Chat: group})
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		var waiting sync.WaitGroup
		for range 5 {
			waiting.Go(func() {
				if err := o.Wait(ctx); !errors.Is(err, outbox.ErrPaused) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("waited and got %v", err)
				}
			})
		}
		waiting.Wait()
		if s.checks != 4 {
			t.Errorf("looked %d times in 65 s, want every 15", s.checks)
		}
		s.account = nil
		if err := o.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if err := o.Paused(); err != nil {
			t.Error(err)
		}
	})
}

// Who looks in vain for an account that somebody else has found meanwhile, or leaves
// before there is an answer, keeps nobody waiting.
func TestLookingInVainClosesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		stays time.Duration // who looks, from the first look on
		found bool          // by somebody else, while they look
		waits time.Duration // who comes when they have looked
	}{
		"found, and they time out": {time.Minute, true, 0},
		"found, and they leave":    {3 * time.Second, true, 0},
		"they leave":               {3 * time.Second, false, 0},
		"they time out":            {time.Minute, false, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{onCheck: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
				o := newOutbox(t, s, outbox.Options{})
				o.Doubt()
				ctx, cancel := context.WithTimeout(t.Context(), tt.stays)
				defer cancel()
				var looking sync.WaitGroup
				looking.Go(func() { _ = o.Wait(ctx) })
				time.Sleep(time.Second)
				if tt.found {
					o.Found()
				}
				time.Sleep(min(tt.stays, 15*time.Second) - time.Second)
				synctest.Wait()
				s.onCheck = nil
				began := time.Now()
				if err := o.Wait(t.Context()); err != nil || time.Since(began).Round(time.Second) != tt.waits {
					t.Errorf("waited %s, %v", time.Since(began), err)
				}
				looking.Wait()
			})
		})
	}
}

func TestPicturesAreRationed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox(t, &server{}, outbox.Options{PictureBurst: 3, PictureEvery: 4 * time.Second})
		for n := range 3 {
			if _, ok := o.Picture(); !ok {
				t.Fatalf("picture %d was refused", n)
			}
		}
		if wait, ok := o.Picture(); ok || wait != 4*time.Second {
			t.Errorf("the fourth: %v, %t", wait, ok)
		}
		time.Sleep(4 * time.Second)
		if _, ok := o.Picture(); !ok {
			t.Error("refused after the wait")
		}
		if _, ok := o.Picture(); ok {
			t.Error("one more than there is room for")
		}
		time.Sleep(time.Hour)
		for n := range 3 {
			if _, ok := o.Picture(); !ok {
				t.Errorf("picture %d was refused after an hour", n)
			}
		}
		if _, ok := o.Picture(); ok {
			t.Error("an hour was saved up")
		}
		free := newOutbox(t, &server{}, outbox.Options{})
		for range 1000 {
			if _, ok := free.Picture(); !ok {
				t.Fatal("refused where nothing is rationed")
			}
		}
	})
}

func TestParkedChatIsTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		o := newOutbox(t, s, outbox.Options{})
		s.refuse(refused(transport.ClassChat))
		_, _ = o.Send(t.Context(), transport.Outgoing{Chat: group})
		if !o.Parked(group) {
			t.Error("not parked")
		}
		time.Sleep(11 * time.Minute)
		if o.Parked(group) {
			t.Error("parked for ever")
		}
		for what, mend := range map[string]func(){
			"taking back": func() { o.Unpark(group) },
			"a message":   func() { _, _ = o.Send(t.Context(), transport.Outgoing{Chat: group}) },
		} {
			s.refuse(refused(transport.ClassChat))
			_, _ = o.Send(t.Context(), transport.Outgoing{Chat: group})
			if mend(); o.Parked(group) {
				t.Errorf("parked after %s", what)
			}
		}
	})
}

// Messages to one chat go out in the order in which they queued, others beside.
func TestTurnsOfAChat(t *testing.T) {
	o := newOutbox(t, &server{}, outbox.Options{})
	if !o.TryTurn(group) || o.TryTurn(group) || !o.TryTurn(direct) {
		t.Fatal("two at once to one chat, or none to another")
	}
	var order []int
	for n := range 5 {
		o.Queue(group, func() { order = append(order, n); o.Done(group) })
	}
	if len(order) > 0 {
		t.Fatalf("%v did not wait", order)
	}
	o.Done(group)
	for n, got := range order {
		if n != got {
			t.Errorf("went out as %v", order)
		}
	}
	if len(order) != 5 || !o.TryTurn(group) {
		t.Errorf("%v went out", order)
	}
}

func TestWhatWentOutIsKnown(t *testing.T) {
	s := &server{}
	o := newOutbox(t, s, outbox.Options{})
	for range 3000 {
		if _, err := o.Send(t.Context(), transport.Outgoing{Chat: group, Text: "miau"}); err != nil {
			t.Fatal(err)
		}
	}
	if !o.Sent(3000) || !o.Echo(3000, group, "miau") {
		t.Error("the last is not known")
	}
	if o.Echo(3000, group, "!kot") || o.Echo(3000, direct, "miau") {
		t.Error("what others write at that moment is taken for ours")
	}
	if o.Sent(1) {
		t.Error("everything is remembered")
	}
}
