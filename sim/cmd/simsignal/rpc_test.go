package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func params(extra string) string {
	return fmt.Sprintf(`{"account":%q,"groupId":%q,%s}`, bot, koty.ID, extra)
}

func TestACallIsAnswered(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	answer := c.call("send", params(`"message":"hej","quote-timestamp":5,"quoteAuthor":"`+ala+`","mentions":["0:1:`+ala+`"]`))
	var result struct {
		Timestamp int64
		Results   []struct {
			GroupID string
			Type    string
		}
	}
	if err := json.Unmarshal(answer.Result, &result); err != nil || string(answer.ID) != `"x"` || result.Timestamp == 0 || len(result.Results) != 1 || result.Results[0].Type != "SUCCESS" || result.Results[0].GroupID != koty.ID {
		t.Errorf("answer is %s, %v", answer.Result, err)
	}
	got := s.sent()[0]
	if got.Via != "rpc" || got.Text != "hej" || got.QuoteTimestamp != 5 || len(got.Mentions) != 1 || got.Groups[0] != koty.ID {
		t.Errorf("log has %+v", got)
	}
}

func TestOneCallMayHaveManyRecipients(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	c.call("send", fmt.Sprintf(`{"recipients":["+15550111111",%q],"message":"x"}`, ala))
	c.call("send", fmt.Sprintf(`{"groupIds":[%q,%q],"message":"x"}`, koty.ID, koty.ID))
	if got := s.sent(); len(got) != 2 || len(got[0].Recipients) != 2 || len(got[1].Groups) != 2 {
		t.Errorf("log has %+v", got)
	}
}

func TestAttachmentsComeAsPathsOrDataURIs(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	path := filepath.Join(t.TempDir(), "k.png")
	if err := os.WriteFile(path, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := c.call("send", params(fmt.Sprintf(`"attachments":[%q,"data:image/png;filename=d.png;base64,%s"]`, path, png))); a.Error != nil {
		t.Fatalf("answer is %+v", a.Error)
	}
	files := s.sent()[0].Attachments
	if len(files) != 2 || files[0].Filename != "k.png" || files[1].Filename != "d.png" || files[0].ContentType != "image/png" {
		t.Errorf("files are %+v", files)
	}
	if a := c.call("send", params(`"attachment":"/does/not/exist"`)); a.Error == nil || a.Error.Code != -1 {
		t.Errorf("a missing file: %+v", a)
	}
}

func TestCallsAreRefusedWithTheirCodes(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	for _, test := range []struct {
		name, line string
		code       int
	}{
		{"no JSON", `{"jsonrpc"`, -32700},
		{"no request", `{"id":1}`, -32600},
		{"params as a list", `{"jsonrpc":"2.0","id":1,"method":"send","params":[1]}`, -32600},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"fly"}`, -32601},
		{"unknown account", `{"jsonrpc":"2.0","id":1,"method":"send","params":{"account":"+1"}}`, -32602},
		{"no recipient", `{"jsonrpc":"2.0","id":1,"method":"send","params":{"message":"x"}}`, -1},
		{"polling while receiving", `{"jsonrpc":"2.0","id":1,"method":"receive"}`, -32600},
		{"unknown subscription", `{"jsonrpc":"2.0","id":1,"method":"unsubscribeReceive","params":{"subscription":3}}`, -32600},
		{"empty batch", `[]`, -32600},
	} {
		c.write(test.line)
		if a := c.read(); a.Error == nil || a.Error.Code != test.code {
			t.Errorf("%s: %+v, want code %d", test.name, a.Error, test.code)
		}
	}
}

func TestFailuresHaveTheDaemonsCodes(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	for quirk, code := range map[string]int{"send_429": -5, "send_fail_identity": -4, "send_fail_transient": -3, "send_fail_prekeys": -32603, "send_fail_permanent": -1, "send_429_delivered": -5} {
		s.quirks(fmt.Sprintf(`{%q:1,"challenge_token":"tok"}`, quirk))
		a := c.call("send", params(`"message":"x"`))
		if a.Error == nil || a.Error.Code != code {
			t.Errorf("%s: %+v", quirk, a.Error)
			continue
		}
		if code == -5 && !(strings.Contains(string(a.Error.Data), `"RATE_LIMIT_FAILURE"`) && strings.Contains(string(a.Error.Data), `"token":"tok"`)) {
			t.Errorf("%s: data is %s", quirk, a.Error.Data)
		}
	}
	if n := len(s.sent()); n != 1 {
		t.Errorf("%d were delivered", n)
	}
}

func TestAPartialSuccessIsAResult(t *testing.T) {
	s := start(t, "-quirks", "partial_failure=1")
	a := s.dialRPC().call("send", params(`"message":"x"`))
	if a.Error != nil || !strings.Contains(string(a.Result), "SUCCESS") || !strings.Contains(string(a.Result), "IDENTITY_FAILURE") {
		t.Errorf("answer is %s", a.Result)
	}
}

func TestAnswersComeInTheOrderTheyAreReady(t *testing.T) {
	s := start(t, "-latency", "send_attachment=300ms")
	c := s.dialRPC()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"send","params":` + params(`"message":"`+strings.Repeat("x", 2001)+`"`) + `}`)
	c.write(`{"jsonrpc":"2.0","id":2,"method":"version"}`)
	if a, b := c.read(), c.read(); string(a.ID) != "2" || string(b.ID) != "1" {
		t.Errorf("answers came as %s, %s", a.ID, b.ID)
	}
}

func TestAnswersCanBeSwapped(t *testing.T) {
	s := start(t, "-quirks", "out_of_order")
	c := s.dialRPC()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"version"}`)
	c.write(`{"jsonrpc":"2.0","id":2,"method":"version"}`)
	seen := map[string]bool{}
	for range 2 {
		seen[string(c.read().ID)] = true
	}
	if !seen["1"] || !seen["2"] {
		t.Errorf("answers were %v", seen)
	}
	if a := c.call("version", "{}"); string(a.ID) != `"x"` { // nobody overtakes it: held only for a while
		t.Errorf("answer is %+v", a)
	}
}

func TestABatchIsAnsweredAsABatch(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	c.write(`[{"jsonrpc":"2.0","id":1,"method":"version"},{"jsonrpc":"2.0","method":"version"},{"jsonrpc":"2.0","id":2,"method":"listAccounts"}]`)
	_ = c.conn.SetReadDeadline(time.Now().Add(bounds))
	line, err := c.lines.ReadBytes('\n')
	var answers []rpcLine
	if err != nil || json.Unmarshal(line, &answers) != nil || len(answers) != 2 {
		t.Errorf("answered %s, %v", line, err)
	}
}

func TestAccountsAndGroupsAreListed(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	if a := c.call("listAccounts", "{}"); string(a.Result) != `[{"number":"`+bot+`"}]` {
		t.Errorf("accounts are %s", a.Result)
	}
	if a := c.call("listGroups", "{}"); !strings.Contains(string(a.Result), `"id":"`+koty.ID+`"`) || !strings.Contains(string(a.Result), `"isMember":true`) {
		t.Errorf("groups are %s", a.Result)
	}
}

func TestACallCanStayUnansweredAndACutBreaksTheLine(t *testing.T) {
	s := start(t, "-quirks", "send_hang=1")
	c := s.dialRPC()
	c.write(`{"jsonrpc":"2.0","id":1,"method":"send","params":` + params(`"message":"x"`) + `}`)
	s.until("delivered", func(v stats) bool { return v.Sends == 1 })
	if a := c.call("version", "{}"); string(a.ID) != `"x"` {
		t.Errorf("got an answer to %s", a.ID)
	}
	s.quirks(`{"send_cut":1}`)
	c.write(`{"jsonrpc":"2.0","id":2,"method":"send","params":` + params(`"message":"x"`) + `}`)
	_ = c.conn.SetReadDeadline(time.Now().Add(bounds))
	if line, err := c.lines.ReadBytes('\n'); err == nil {
		t.Errorf("got the whole line %s", line)
	}
}

func TestDisconnectCutsTheConnections(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	s.must(200, "POST", "/_sim/disconnect?what=rpc", "", nil)
	_ = c.conn.SetReadDeadline(time.Now().Add(bounds))
	if _, err := c.lines.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	s.until("gone", func(v stats) bool { return v.RPC == 0 })
	s.must(400, "POST", "/_sim/disconnect", "", nil)
}

func TestOnStartFramesComeUnwrapped(t *testing.T) {
	s := start(t)
	c := s.dialRPC()
	s.emit("0", numbered(500)...)
	for i := range 500 {
		l := c.read()
		var f frame
		if err := json.Unmarshal(l.Params, &f); err != nil || l.Method != "receive" || f.text() != fmt.Sprint("message ", i) {
			t.Fatalf("line %d is %+v, %v", i, l, err)
		}
	}
}

func TestInManualModeFramesWaitForTheSubscriptionAndComeWrapped(t *testing.T) {
	s := start(t, "-receive-mode", "manual")
	c := s.dialRPC()
	s.emit("0", "waited")
	s.until("waiting", func(v stats) bool { return v.Waiting == 1 })
	if a := c.call("subscribeReceive", "{}"); string(a.Result) != "0" {
		// The frame may come before the answer.
		if a.Method != "receive" {
			t.Fatalf("answer is %+v", a)
		}
		if b := c.read(); string(b.Result) != "0" {
			t.Fatalf("answer is %+v", b)
		}
	} else {
		wrapped(t, c.read(), "waited")
	}
	s.emit("0", "live")
	wrapped(t, c.read(), "live")
	if a := c.call("unsubscribeReceive", `{"subscription":0}`); string(a.Result) != "{}" {
		t.Errorf("answer is %+v", a)
	}
	s.emit("0", "waits again")
	s.until("waiting", func(v stats) bool { return v.Waiting == 1 })
}

func wrapped(t *testing.T, l rpcLine, want string) {
	t.Helper()
	var p struct {
		Subscription *int
		Result       frame
	}
	if err := json.Unmarshal(l.Params, &p); err != nil || p.Subscription == nil || *p.Subscription != 0 || p.Result.text() != want {
		t.Errorf("line is %+v, %v", l, err)
	}
}

func TestOnConnectionFramesWaitForAConnection(t *testing.T) {
	s := start(t, "-receive-mode", "on-connection")
	s.emit("0", numbered(50)...)
	s.until("waiting", func(v stats) bool { return v.Waiting == 50 })
	c := s.dialRPC()
	for i := range 50 {
		var f frame
		if l := c.read(); json.Unmarshal(l.Params, &f) != nil || f.text() != fmt.Sprint("message ", i) {
			t.Fatalf("line %d is %+v", i, l)
		}
	}
}

// blocked emits more than the sockets buffer and waits until a reader that does
// not read holds the frames up.
func blocked(s *sim, c *rpcClient, n int) (texts []string) {
	s.t.Helper()
	if err := c.conn.(*net.TCPConn).SetReadBuffer(256 << 10); err != nil {
		s.t.Fatal(err)
	}
	for i := range n {
		texts = append(texts, fmt.Sprint(i, " ", strings.Repeat("x", 60<<10)))
	}
	s.emit("0", texts...)
	last, same := int64(-1), 0
	s.until("held up", func(v stats) bool {
		if v.Delivered != last {
			last, same = v.Delivered, 0
		}
		same++
		return v.Queued > 0 && v.Delivered > 0 && same > 20
	})
	return texts
}

func TestASlowReaderHoldsFramesUpAndLosesNone(t *testing.T) {
	s := start(t, "-receive-mode", "manual")
	c := s.dialRPC()
	if a := c.call("subscribeReceive", "{}"); string(a.Result) != "0" {
		t.Fatalf("answer is %+v", a)
	}
	for _, text := range blocked(s, c, 130) {
		wrapped(t, c.read(), text)
	}
	if v := s.stats(); len(v.Dropped) != 0 {
		t.Errorf("dropped %v", v.Dropped)
	}
}

func TestResetFreesABlockedReader(t *testing.T) {
	s := start(t)
	blocked(s, s.dialRPC(), 130)
	s.must(204, "POST", "/_sim/reset", "", nil)
	s.until("free", func(v stats) bool { return v.Queued == 0 })
	other := s.dialRPC()
	s.emit("0", "after")
	var f frame
	if l := other.read(); json.Unmarshal(l.Params, &f) != nil || f.text() != "after" {
		t.Errorf("line is %+v", l)
	}
}

func TestAFaultIsANotificationWithAnError(t *testing.T) {
	s := start(t, "-quirks", "error_frames=1")
	c := s.dialRPC()
	s.emit("0", "x")
	if l := c.read(); l.Method != "receive" || l.Error == nil {
		t.Errorf("line is %+v", l)
	}
}
