package rules_test

import (
	"fmt"
	"testing"

	"quartet/services/botd/internal/rules"
	"quartet/services/botd/internal/transport"
)

func full(t testing.TB) (r *rules.Rules, chat transport.Chat) {
	r = inMemory()
	chat = transport.Chat{Group: fmt.Sprintf("%044d", 7)}
	for n := range 1000 {
		for _, record := range []string{`{"op":"allow","g":"%044d"}`, `{"op":"ignore","p":"%044d"}`, `{"op":"off","c":"kot","g":"%044d"}`} {
			if err := r.Apply(fmt.Appendf(nil, record, n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r, chat
}

func TestQuestionsAllocateNothing(t *testing.T) {
	r, chat := full(t)
	if n := testing.AllocsPerRun(100, func() {
		r.Allowed(chat.Group)
		r.Ignored(chat.Group)
		r.Off("kot", chat)
		r.Limits("kot", chat)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAllowed(b *testing.B) {
	r, chat := full(b)
	b.ReportAllocs()
	for b.Loop() {
		r.Allowed(chat.Group)
	}
}

func BenchmarkOff(b *testing.B) {
	r, chat := full(b)
	b.ReportAllocs()
	for b.Loop() {
		r.Off("kot", chat)
	}
}

func BenchmarkIgnoreInAThousand(b *testing.B) {
	r, _ := full(b)
	for b.Loop() {
		_ = r.Ignore("ala")
		_ = r.Hear("ala")
	}
}
