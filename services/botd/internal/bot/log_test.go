package bot_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
)

// Whatever happens, no level of the log has what people wrote, how they are
// called, or their numbers, uuids and groups.
func TestLogHasNoPersonalData(t *testing.T) {
	const (
		uuid   = "5ec2e700-1111-4111-8111-111111111111"
		phone  = "+15550177777"
		word   = "tajemnica"
		person = "Halinka"
		title  = "Rodzinka"
	)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(false)
		log := &logged{}
		s.log = log.handler()
		o := bot.Options{BacklogBytes: 8 << 10, Limit: 2, SenderWaiting: 3, Groups: []string{home}, Direct: true, Ack: "👀", DeleteAttachments: true, Quote: true, DrainTimeout: time.Second, SendTimeout: time.Minute}
		fails := &command.Command{Name: "fails", Run: func(context.Context, command.Request) (command.Reply, error) {
			return command.Reply{}, errors.New("HTTP status 503")
		}}
		boom := &command.Command{Name: "boom", Run: func(context.Context, command.Request) (command.Reply, error) { panic("boom") }}
		start := func() *rig {
			return s.start(t, o, limited("a", cooldown.Limits{User: time.Minute}), repeat, fails, boom, misfit(cooldown.Limits{}), picture("kot", cooldown.Limits{}))
		}
		r := start()
		say := func(group, text string) frame {
			return frame{from: uuid, number: phone, name: person, group: group, title: title, text: text, files: []string{word + ".png"}}
		}
		everything := func() {
			for _, group := range []string{home, other, ""} {
				for _, text := range []string{"!repeat ", "!repeta ", "!a ", "!a ", "!fails ", "!boom ", "!miasto ", "!kot ", "!status ", "!ja ", "!unknown ", ""} {
					s.bring(say(group, text+word))
					time.Sleep(time.Second)
				}
			}
			s.bring(frame{from: uuid, group: home, edits: 1000, text: "!repeat " + word}, frame{from: uuid, deletes: 1001}, frame{from: uuid, receipts: []int64{time.Now().UnixMilli()}})
			s.frames <- `{"account":"` + phone + `","envelope":{"sourceUuid":"` + uuid + `","dataMessage":{"message":"!repeat ` + word + `"}}}`
			s.frames <- `{` + word
			for range 20 {
				s.bring(say(home, "!repeat "+word))
			}
			time.Sleep(time.Minute)
		}
		everything()
		for _, err := range []error{
			transport.ErrOutcomeUnknown, errors.New("no route"),
			&transport.Error{Class: transport.ClassUnknown, Text: "User " + uuid + " of " + phone + " in " + home + " is odd"},
			&transport.Error{Class: transport.ClassIdentity, Failed: []transport.Failure{{Recipient: uuid, Reason: "IDENTITY_FAILURE"}}},
			&transport.Error{Class: transport.ClassChat, Text: fmt.Sprintf("Unregistered user %q", phone)},
			limit(time.Minute),
		} {
			s.sendWith(func(context.Context, transport.Outgoing) error { return err })
			everything()
			s.sendWith(nil)
			time.Sleep(11 * time.Minute) // no chat is parked any more
		}
		s.cut <- errors.New("broken")
		time.Sleep(time.Minute)
		s.sendWith(func(ctx context.Context, _ transport.Outgoing) error { return make(waits).pass(ctx) })
		for range 5 {
			s.bring(say(home, "!repeat "+word))
		}
		synctest.Wait()
		r.stop()
		s.sendWith(nil)
		r = start()
		time.Sleep(time.Minute)
		r.stop()
		if n := len(log.lines("msg=served")); n < 20 {
			t.Errorf("only %d commands are in the log", n)
		}
		for _, secret := range []string{word, person, title, uuid, uuid[:8], phone, phone[1:], home, other, admin} {
			for _, line := range log.lines(secret) {
				t.Errorf("%q is in the log: %s", secret, line)
			}
		}
	})
}

// Of one chat an admin may have the texts logged. It begins when that was said
// there, and ends by itself.
func TestDebuggedChatIsLoggedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		log := &logged{}
		s.log = log.handler()
		r := s.start(t, bot.Options{}, repeat)
		say := func(what string) {
			s.bring(frame{from: "ala", group: home, text: "!repeat here " + what}, frame{from: "ala", group: other, text: "!repeat there " + what}, frame{from: "ala", text: "!repeat alone " + what})
			synctest.Wait()
		}
		say("before")
		s.bring(frame{from: admin, group: home, text: "!podsłuch włącz"})
		synctest.Wait()
		say("during")
		s.bring(frame{from: admin, group: home, text: "!podsłuch wyłącz"})
		synctest.Wait()
		say("between")
		s.bring(frame{from: admin, group: home, text: "!podsłuch włącz"})
		synctest.Wait()
		time.Sleep(61 * time.Minute)
		say("after")
		s.refuse(errors.New("no route"), errors.New("no route"))
		s.bring(frame{from: admin, group: other, text: "!podsłuch włącz"}) // nobody there knows of it
		synctest.Wait()
		say("unsaid")
		r.stop()
		lines := log.lines("here")
		if len(lines) != 1 || !strings.Contains(lines[0], `text="!repeat here during" answer="here during"`) {
			t.Errorf("logged %q", lines)
		}
		if all := append(log.lines("there"), log.lines("alone")...); len(all) > 0 {
			t.Errorf("logged %q", all)
		}
	})
}

// Only so many chats are logged at once. One too many is told so, though all ask
// in the same moment, and those that ended make room.
func TestOnlySoManyChatsAreDebugged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(true)
		log := &logged{}
		s.log = log.handler()
		const most = 16
		var admins []string
		for n := range most + 1 {
			admins = append(admins, fmt.Sprint("admin", n))
		}
		r := s.start(t, bot.Options{Limit: most + 1, Admins: admins}, repeat)
		told := make(waits)
		s.sendWith(func(ctx context.Context, _ transport.Outgoing) error { return told.pass(ctx) })
		chat := func(n int) string { return strings.Repeat(string(rune('A'+n)), 43) + "=" }
		for n := range most + 1 {
			s.bring(frame{from: admins[n], group: chat(n), text: "!podsłuch włącz"})
		}
		synctest.Wait()
		close(told)
		synctest.Wait()
		if got := s.texts(); len(got) != most+1 || !slices.Contains(got, said.Polish.DebugFull()) {
			t.Errorf("told %q", got)
		}
		overheard := func() int {
			for n := range most + 1 {
				s.bring(frame{from: "ala", group: chat(n), text: "!repeat overheard"})
			}
			synctest.Wait()
			return len(log.lines("overheard"))
		}
		if n := overheard(); n != most {
			t.Errorf("%d chats are logged", n)
		}
		time.Sleep(2 * time.Hour)
		s.bring(frame{from: admin, group: chat(most), text: "!podsłuch włącz"})
		synctest.Wait()
		if n := overheard(); n != most+1 {
			t.Errorf("those that are over make no room: %d lines", n)
		}
		r.stop()
	})
}
