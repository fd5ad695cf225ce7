package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"quartet/e2e/internal/stack"
)

// Answers to one chat go out one after another, whoever asked, so that none
// overtakes another, and each person's in the order of the questions; those to
// other chats go out beside them.
func TestAnswersToAChatDoNotOvertakeEachOther(t *testing.T) {
	const asked, askers, chats = 400, 40, 4
	for _, way := range []stack.Way{stack.Websocket, stack.RPC} {
		t.Run(way.String(), func(t *testing.T) {
			b := stack.StartBotd(t, stack.Options{Way: way, Env: []string{"BOTD_LIMIT=32", "BOTD_COOLDOWN=0", "BOTD_SENDER_WAITING=100"},
				Signal: []string{"-latency", "send_text=5ms~0.8"}})
			b.Signal.Emit(t, stack.Load{Count: asked, Spacing: "1ms", People: askers, Groups: chats, Text: "!ja"})
			sends := collect(t, b.Signal, asked)
			uses := map[string]int{}
			last := map[string]stack.Sent{} // the one before, to each chat
			for i, s := range sends {
				who, _, _ := strings.Cut(s.Message, ":")
				if uses[who]++; !strings.Contains(s.Message, fmt.Sprintf(": od początku %d polece", uses[who])) {
					t.Fatalf("answer %d, the %dth to %s, is %q", i+1, uses[who], who, s.Message)
				}
				chat := s.Recipients[0]
				if before := last[chat]; s.At.Before(before.Done) {
					t.Errorf("answer %d began %s before the one before it, to the same chat, was delivered", i+1, before.Done.Sub(s.At))
				}
				last[chat] = s
			}
			if n := b.Signal.Overlaps(t); n != 0 {
				t.Errorf("%d sends began while another one to the same chat went on", n)
			}
			if most := together(sends); len(last) != chats || most < 2 || most > chats {
				t.Errorf("%d sends went on at once, at most, in %d chats", most, len(last))
			}
		})
	}
}

// together is how many sends went on at once, at most.
func together(sends []stack.Sent) (most int) {
	for _, s := range sends {
		n := 0
		for _, other := range sends {
			if !other.At.After(s.At) && other.Done.After(s.At) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
