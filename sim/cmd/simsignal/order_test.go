package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"quartet/sim/internal/signalnet"
)

type attemptsPage struct {
	Attempts []signalnet.Attempt
	Next     uint64
}

func TestSendsToOneChatThatOverlapAreCounted(t *testing.T) {
	s := start(t, "-latency", "send_text=200ms")
	var wg sync.WaitGroup
	for _, to := range []string{publicKoty, publicKoty, ala} {
		wg.Go(func() { s.send(fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x"}`, bot, to)) })
	}
	wg.Wait()
	s.send(message("after them"))
	var o signalnet.Overlaps
	s.must(200, "GET", "/_sim/overlaps", "", &o)
	if o.Attempts != 4 || o.Chats != 2 || o.Overlaps != 1 || len(o.Examples) != 1 || o.Examples[0] != koty.ID {
		t.Errorf("%+v", o)
	}
	s.must(204, "POST", "/_sim/reset", "", nil)
	s.send(message("one"))
	s.send(message("two"))
	if s.must(200, "GET", "/_sim/overlaps", "", &o); o.Attempts != 2 || o.Overlaps != 0 || len(o.Examples) != 0 {
		t.Errorf("one after the other: %+v", o)
	}
}

func TestSendsOverJSONRPCOverlapToo(t *testing.T) {
	s := start(t, "-latency", "send_text=200ms")
	c := s.dialRPC()
	for id := range 2 {
		c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"send","params":%s}`, id, params(`"message":"x"`)))
	}
	c.read()
	c.read()
	var o signalnet.Overlaps
	if s.must(200, "GET", "/_sim/overlaps", "", &o); o.Overlaps != 1 {
		t.Errorf("%+v", o)
	}
}

func TestEveryAttemptIsNotedHoweverItEnds(t *testing.T) {
	s := start(t, "-quirks", "send_fail_prekeys=1,send_429_delivered=1")
	for range 3 {
		s.send(fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"hej","quote_timestamp":5,"quote_author":%q,"base64_attachments":[%q]}`, bot, publicKoty, ala, png))
	}
	s.send(fmt.Sprintf(`{"number":%q,"recipients":["+15550111111"],"message":"x","edit_timestamp":7}`, bot))
	var page attemptsPage
	s.must(200, "GET", "/_sim/attempts?after=0&wait=10s", "", &page)
	if len(page.Attempts) != 4 || page.Next != 4 {
		t.Fatalf("%+v", page)
	}
	for i, want := range []struct {
		delivered bool
		failure   string
	}{{false, "prekeys"}, {true, "429"}, {true, ""}, {true, ""}} {
		a := page.Attempts[i]
		if a.Delivered != want.delivered || a.Failure != want.failure || a.Begin.IsZero() || a.End.Before(a.Begin) || a.Via != "rest" {
			t.Errorf("attempt %d is %+v", i, a)
		}
	}
	first, last := page.Attempts[0], page.Attempts[3]
	if first.Chat != koty.ID || first.QuoteTimestamp != 5 || first.Attachments != 1 || first.Bytes != 18 || first.MessageBytes != 3 || last.Chat != "+15550111111" || last.EditTimestamp != 7 {
		t.Errorf("%+v, %+v", first, last)
	}
}

func TestRecipientsConfirmSends(t *testing.T) {
	s := start(t, "-quirks", "receipts=read,drop_when_busy=false")
	conn := s.dial(bot)
	_, answer := s.send(fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x"}`, bot, ala))
	timestamp := strings.Trim(answer[strings.Index(answer, ":")+1:], `"}`)
	for _, kind := range []string{`"isDelivery":true,"isRead":false`, `"isDelivery":false,"isRead":true`} {
		ctx, cancel := context.WithTimeout(t.Context(), bounds)
		_, content, err := conn.Read(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{kind, `"timestamps":[` + timestamp + `]`, `"sourceUuid":"` + ala + `"`} {
			if !strings.Contains(string(content), want) {
				t.Errorf("%s has no %s", content, want)
			}
		}
	}
	s.quirks(`{"receipts":"delivered","receipt_delay":"50ms"}`)
	s.send(message("to a group of four"))
	if v := s.until("confirmed", func(v stats) bool { return v.ReceiptsGiven == 6 }); v.ReceiptsLate != 0 {
		t.Errorf("%+v", v)
	}
}
