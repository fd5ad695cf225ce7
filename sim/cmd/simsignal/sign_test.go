package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// What is shown over JSON-RPC counts, and is on the page, as what comes by REST.
func TestSignsOverJSONRPC(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	for _, call := range []struct{ method, params string }{
		{"sendTyping", fmt.Sprintf(`{"groupId":%q}`, koty.ID)},
		{"sendTyping", fmt.Sprintf(`{"group-id":[%q],"stop":true}`, koty.ID)},
		{"sendReaction", fmt.Sprintf(`{"account":%q,"groupId":%q,"emoji":"👍","targetAuthor":%q,"targetTimestamp":5}`, bot, koty.ID, ala)},
		{"sendReaction", fmt.Sprintf(`{"groupIds":[%q],"emoji":"👍","target-author":%q,"target-timestamp":"5","remove":true}`, koty.ID, ala)},
		{"sendReaction", fmt.Sprintf(`{"recipient":%q,"emoji":"👍","targetAuthor":%[1]q,"targetTimestamp":5}`, ala)},
		{"sendReceipt", fmt.Sprintf(`{"recipient":%q,"targetTimestamp":5}`, ala)},
		{"sendReceipt", fmt.Sprintf(`{"recipient":%q,"targetTimestamps":[5,6],"type":"viewed"}`, ala)},
	} {
		var result struct {
			Timestamp int64
			Results   []struct{ Type string }
		}
		a := c.call(call.method, call.params)
		if err := json.Unmarshal(a.Result, &result); err != nil || result.Timestamp == 0 || len(result.Results) != 1 || result.Results[0].Type != "SUCCESS" {
			t.Errorf("%s %s: %s, %+v", call.method, call.params, a.Result, a.Error)
		}
	}
	if v := s.stats(); v.TypingStarted != 1 || v.TypingStopped != 1 || v.Reactions != 3 || v.Receipts != 2 || v.SendsReceived != 0 {
		t.Errorf("%+v", v)
	}
	var kinds []string
	for _, e := range events(t, s, 4) {
		kinds = append(kinds, e.Kind+e.Text)
	}
	if got := strings.Join(kinds, " "); got != "typing stopped reaction👍 unreaction👍" {
		t.Errorf("the page shows %s", got)
	}
}

func TestSignsOverJSONRPCAreRefusedWithTheirCodes(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	for _, call := range []struct {
		method, params string
		code           int
	}{
		{"sendTyping", `{}`, -1},
		{"sendTyping", `{"groupId":"AAAA"}`, -1},
		{"sendTyping", `{"account":"+1","recipient":"` + ala + `"}`, -32602},
		{"sendReaction", `{"recipient":"` + ala + `","targetAuthor":"` + ala + `","targetTimestamp":5}`, -1},
		{"sendReaction", `{"recipient":"` + ala + `","emoji":"👍","targetTimestamp":5}`, -1},
		{"sendReaction", `{"recipient":"` + ala + `","emoji":"👍","targetAuthor":"` + ala + `"}`, -1},
		{"sendReaction", `{"emoji":"👍","targetAuthor":"` + ala + `","targetTimestamp":5}`, -1},
		{"sendReceipt", `{"recipient":"` + ala + `"}`, -1},
		{"sendReceipt", `{"recipient":"` + ala + `","targetTimestamps":[5,"x"]}`, -1},
		{"sendReceipt", `{"recipient":"` + ala + `","targetTimestamp":5,"type":"delivered"}`, -1},
		{"sendReceipt", `{"groupId":"` + koty.ID + `","targetTimestamp":5}`, -1},
	} {
		if a := c.call(call.method, call.params); a.Error == nil || a.Error.Code != call.code {
			t.Errorf("%s %s: %s, %+v, want code %d", call.method, call.params, a.Result, a.Error, call.code)
		}
	}
	if v := s.stats(); v.TypingStarted+v.Reactions+v.Receipts != 0 {
		t.Errorf("%+v", v)
	}
}

func TestSignsTakeTheirTime(t *testing.T) {
	s := start(t, "-latency", "receipt=50ms")
	began := time.Now()
	s.dialRPC().call("sendReceipt", fmt.Sprintf(`{"recipient":%q,"targetTimestamp":5}`, ala))
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("took %v", took)
	}
}
