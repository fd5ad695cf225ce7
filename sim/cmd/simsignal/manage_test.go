package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	imagepng "image/png"
	"strings"
	"testing"

	"quartet/sim/internal/signalnet"
)

// calls returns the calls of a kind that were noted.
func (s *sim) calls(kind string) []signalnet.Call {
	s.t.Helper()
	var page struct{ Calls []signalnet.Call }
	s.must(200, "GET", "/_sim/calls?kind="+kind, "", &page)
	return page.Calls
}

// refused sends and checks that it is refused with the words.
func (s *sim) refused(to, words string) {
	s.t.Helper()
	if status, answer := s.send(fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x"}`, bot, to)); status != 400 || !strings.Contains(answer, words) {
		s.t.Errorf("%d %s, want %q", status, answer, words)
	}
}

func (s *sim) accepted(to string) {
	s.t.Helper()
	if status, answer := s.send(fmt.Sprintf(`{"number":%q,"recipients":[%q],"message":"x"}`, bot, to)); status != 201 {
		s.t.Errorf("%d %s", status, answer)
	}
}

func TestAGroupThatWasLeftTakesNothing(t *testing.T) {
	s := start(t)
	s.accepted(publicKoty)
	s.must(204, "POST", "/v1/groups/"+bot+"/"+publicKoty+"/quit", "", nil)
	s.refused(publicKoty, "User is not a member in group: Koty ("+koty.ID+")")
	if _, _, list := s.call("GET", "/v1/groups/"+bot, ""); !strings.Contains(list, `"member":false`) {
		t.Errorf("groups are %s", list)
	}
	if status, _, answer := s.call("POST", "/v1/groups/"+bot+"/"+publicKoty+"/quit", ""); status != 400 {
		t.Errorf("again: %d %s", status, answer)
	}
	list := s.calls("quit_group")
	if len(list) != 2 || list[0].Group != koty.ID || list[0].Failure != "" || list[1].Failure != "not_member" {
		t.Errorf("calls are %+v", list)
	}
	s.must(204, "POST", "/_sim/reset", "", nil)
	s.accepted(publicKoty)
}

func TestAnUntrustedPersonGetsNothingUntilTrusted(t *testing.T) {
	s := start(t)
	s.must(200, "POST", "/_sim/identities", `{"untrusted":["`+ala+`"]}`, nil)
	s.refused(ala, "untrusted recipient keys")
	if a := s.dialRPC().call("send", fmt.Sprintf(`{"recipient":%q,"message":"x"}`, ala)); a.Error == nil || a.Error.Code != -4 || !strings.Contains(string(a.Error.Data), "IDENTITY_FAILURE") {
		t.Errorf("over JSON-RPC: %+v", a)
	}
	s.quirks(`{"send_answer":"array"}`)
	if _, answer := s.send(message("x")); !strings.Contains(answer, `{"uuid":"`+ala+`","reason":"IDENTITY_FAILURE"}`) {
		t.Errorf("her group: %s", answer)
	}
	trust := "/v1/identities/" + bot + "/trust/" + ala
	for _, body := range []string{`{}`, `{"trust_all_known_keys":false}`, `{"verified_safety_number":"1"}`, `{"verified_safety_number":"1","trust_all_known_keys":true}`} {
		if status, _, answer := s.call("PUT", trust, body); status != 400 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	s.refused(ala, "untrusted")
	s.must(204, "PUT", trust, `{"trust_all_known_keys":true}`, nil)
	s.accepted(ala)
	if list := s.calls("trust"); len(list) != 2 || list[1].Recipient != ala || list[1].Failure != "" {
		t.Errorf("calls are %+v", list)
	}
	if _, _, list := s.call("GET", "/v1/identities/"+bot, ""); !strings.Contains(list, `"status":"TRUSTED_UNVERIFIED"`) {
		t.Errorf("identities are %s", list)
	}
}

func TestEverybodyMayBeUntrustedUntilTrusted(t *testing.T) {
	s := start(t)
	s.must(200, "POST", "/_sim/identities", `{"untrusted":["*"]}`, nil)
	s.refused(ala, "untrusted")
	if a := s.dialRPC().call("trust", fmt.Sprintf(`{"recipient":%q,"trustAllKnownKeys":true}`, ala)); a.Error != nil {
		t.Errorf("%+v", a.Error)
	}
	s.accepted(ala)
	s.refused("22222222-2222-4222-8222-222222222222", "untrusted")
}

func TestGroupsWantAProfile(t *testing.T) {
	s := start(t, "-quirks", "profile_missing")
	s.refused(publicKoty, "please first update your profile")
	s.accepted(ala)
	if status, _, answer := s.call("PUT", "/v1/profiles/"+bot, `{"about":"x"}`); status != 400 {
		t.Errorf("without a name: %d %s", status, answer)
	}
	s.must(204, "PUT", "/v1/profiles/"+bot, `{"name":"Kocibot","about":"miau"}`, nil)
	s.accepted(publicKoty)
	var info struct{ Profile signalnet.Profile }
	if s.must(200, "GET", "/_sim/info", "", &info); info.Profile.Name != "Kocibot" || info.Profile.About != "miau" {
		t.Errorf("%+v", info)
	}
	if a := s.dialRPC().call("updateProfile", `{"givenName":"Drugi"}`); a.Error != nil {
		t.Errorf("%+v", a.Error)
	}
	if s.must(200, "GET", "/_sim/info", "", &info); info.Profile.Name != "Drugi" || info.Profile.About != "miau" {
		t.Errorf("%+v", info)
	}
}

func TestWhoMayWriteWhere(t *testing.T) {
	s := start(t)
	s.must(200, "POST", "/_sim/groups", `[{"name":"Ogłoszenia","announcement":true,"admins":["`+ala+`"]}]`, nil)
	g := signalnet.NamedGroup("Ogłoszenia")
	s.refused(g.PublicID(), "User is not allowed to send message to group: Ogłoszenia ("+g.ID+")")
	s.must(200, "POST", "/_sim/groups", `[{"name":"Ogłoszenia","announcement":true,"bot_admin":true,"admins":["`+ala+`"]}]`, nil)
	s.accepted(g.PublicID())
	unknown := signalnet.NamedGroup("nobody's").PublicID()
	s.accepted(unknown)
	s.quirks(`{"unknown_group_fails":true}`)
	s.refused(unknown, "Group not found: ")
	for _, body := range []string{`[{}]`, `[{"name":"x","internal_id":"AAAA"}]`, `{}`} {
		if status, _, answer := s.call("POST", "/_sim/groups", body); status != 400 {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}

func TestGroupsTellTheirMembersAndAdmins(t *testing.T) {
	s := start(t)
	_, _, list := s.call("GET", "/v1/groups/"+bot+"?expand=true", "")
	for _, want := range []string{`{"number":"` + bot + `","uuid":"` + signalnet.BotUUID + `"}`, `"uuid":"` + ala + `"}],"permissions"`} {
		if !strings.Contains(list, want) {
			t.Errorf("%s has no %s", list, want)
		}
	}
	s.quirks(`{"number_null":true}`)
	if _, _, list = s.call("GET", "/v1/groups/"+bot+"/"+publicKoty, ""); !strings.Contains(list, `"members":["`+bot+`","`+ala+`"`) || !strings.Contains(list, `"admins":["`+ala+`"]`) {
		t.Errorf("with hidden numbers: %s", list)
	}
	a := s.dialRPC().call("listGroups", `{"groupId":"`+koty.ID+`"}`)
	if got := string(a.Result); !strings.Contains(got, `{"number":null,"uuid":"`+ala+`","isAdmin":true}`) || strings.Count(got, `"isBlocked"`) != 1 {
		t.Errorf("over JSON-RPC: %s", got)
	}
}

func TestTheChallengeLiftsTheRateLimit(t *testing.T) {
	s := start(t, "-quirks", "rate_limited,challenge_token=tok,retry_after=90s")
	if status, answer := s.send(message("x")); status != 429 || !strings.Contains(answer, `"challenge_tokens":["tok"]`) {
		t.Errorf("%d %s", status, answer)
	}
	c := s.dialRPC()
	if a := c.call("send", params(`"message":"x"`)); a.Error == nil || a.Error.Code != -5 || !strings.Contains(string(a.Error.Data), `"retryAfterSeconds":90`) {
		t.Errorf("over JSON-RPC: %+v", a)
	}
	if a := c.call("submitRateLimitChallenge", `{"challenge":"tok","captcha":"nonsense"}`); a.Error == nil || a.Error.Code != -6 {
		t.Errorf("a wrong captcha: %+v", a)
	}
	path := "/v1/accounts/" + bot + "/rate-limit-challenge"
	if status, _, answer := s.call("POST", path, `{"challenge_token":"other","captcha":"signalcaptcha://x"}`); status != 400 || !strings.Contains(answer, "Captcha rejected") {
		t.Errorf("a wrong token: %d %s", status, answer)
	}
	s.must(204, "POST", path, `{"challenge_token":"tok","captcha":"signalcaptcha://x"}`, nil)
	s.accepted(publicKoty)
	if list := s.calls("challenge"); len(list) != 3 || list[2].Detail != "tok" || list[2].Failure != "" {
		t.Errorf("calls are %+v", list)
	}
}

func TestAttachmentsThatAreTooLargeAreRefused(t *testing.T) {
	s := start(t, "-quirks", "max_attachment_bytes=17")
	body := fmt.Sprintf(`{"number":%q,"recipients":[%q],"base64_attachments":[%q]}`, bot, publicKoty, png)
	if status, answer := s.send(body); status != 400 || !strings.Contains(answer, "[413]") {
		t.Errorf("%d %s", status, answer)
	}
	s.quirks(`{"max_attachment_bytes":18}`)
	if status, answer := s.send(body); status != 201 {
		t.Errorf("%d %s", status, answer)
	}
}

func TestReceivedAttachmentsStayUntilDeleted(t *testing.T) {
	s := start(t)
	s.must(202, "POST", "/_sim/frames", `[{"sender":"`+ala+`","attachments":[{"content_type":"image/png","bytes":99},{"content_type":"image/jpeg","bytes":5}]}]`, nil)
	s.until("stored", func(v stats) bool { return v.FilesStored == 2 })
	var ids []string
	s.must(200, "GET", "/v1/attachments", "", &ids)
	status, kind, content := s.call("GET", "/v1/attachments/"+ids[0], "")
	if status != 200 || kind != "image/png" || len(content) != 99 || !strings.HasPrefix(content, "\x89PNG") {
		t.Errorf("%d %s, %d bytes", status, kind, len(content))
	}
	var data struct{ Data string }
	a := s.dialRPC().call("getAttachment", fmt.Sprintf(`{"id":%q,"recipient":%q}`, ids[1], ala))
	if err := json.Unmarshal(a.Result, &data); err != nil || data.Data != base64.StdEncoding.EncodeToString([]byte("\xff\xd8\xff\xe0\x00")) {
		t.Errorf("%s, %v", a.Result, err)
	}
	s.must(204, "DELETE", "/v1/attachments/"+ids[0], "", nil)
	for _, method := range []string{"GET", "DELETE"} {
		if status, _, answer := s.call(method, "/v1/attachments/"+ids[0], ""); status != 404 {
			t.Errorf("%s of a deleted one: %d %s", method, status, answer)
		}
	}
	if v := s.stats(); v.FilesStored != 1 || v.FilesDeleted != 1 || v.FilesRead != 2 {
		t.Errorf("%+v", v)
	}
	s.quirks(`{"ignore_attachments":true,"drop_when_busy":false}`)
	if got := s.emitted(s.dial(bot), `[{"sender":"`+ala+`","attachments":1}]`); !strings.Contains(got, `"id":"sim`) || s.stats().FilesStored != 1 {
		t.Errorf("ignored: %s", got)
	}
}

func TestALinkBringsTheAccountOnceItIsScanned(t *testing.T) {
	s := start(t, "-quirks", "account_missing,link_delay=300ms")
	var accounts []string
	if s.must(200, "GET", "/v1/accounts", "", &accounts); len(accounts) != 0 {
		t.Fatalf("accounts are %v", accounts)
	}
	if status, _, answer := s.call("GET", "/v1/qrcodelink", ""); status != 400 {
		t.Errorf("without a name: %d %s", status, answer)
	}
	status, kind, content := s.call("GET", "/v1/qrcodelink?device_name=botd", "")
	if _, err := imagepng.Decode(bytes.NewReader([]byte(content))); status != 200 || kind != "image/png" || err != nil {
		t.Errorf("%d %s, %v", status, kind, err)
	}
	var raw struct {
		URI string `json:"device_link_uri"`
	}
	if s.must(200, "GET", "/v1/qrcodelink/raw?device_name=botd", "", &raw); !strings.HasPrefix(raw.URI, "sgnl://linkdevice?uuid=") || !strings.Contains(raw.URI, "&pub_key=") {
		t.Errorf("%+v", raw)
	}
	s.until("linked", func(stats) bool {
		s.must(200, "GET", "/v1/accounts", "", &accounts)
		return len(accounts) == 1
	})
	s.accepted(ala)
}

func TestALinkOverJSONRPCIsWaitedFor(t *testing.T) {
	s := start(t, "-quirks", "account_missing,link_delay=100ms,link_fail=1")
	c := s.dialRPC()
	link := func() rpcLine {
		var made struct{ DeviceLinkURI string }
		if err := json.Unmarshal(c.call("startLink", "{}").Result, &made); err != nil {
			t.Fatal(err)
		}
		return c.call("finishLink", fmt.Sprintf(`{"deviceLinkUri":%q,"deviceName":"botd"}`, made.DeviceLinkURI))
	}
	if a := link(); a.Error == nil || !strings.Contains(a.Error.Message, "timed out") {
		t.Errorf("one that nobody scans: %+v", a)
	}
	if a := c.call("send", params(`"message":"x"`)); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("without an account: %+v", a)
	}
	if a := link(); string(a.Result) != `{"number":"`+bot+`"}` {
		t.Errorf("%s, %+v", a.Result, a.Error)
	}
	if a := c.call("finishLink", `{"deviceLinkUri":"sgnl://other"}`); a.Error == nil || a.Error.Code != -1 {
		t.Errorf("one that was not made: %+v", a)
	}
	if a := c.call("send", params(`"message":"x"`)); a.Error != nil {
		t.Errorf("with the account: %+v", a.Error)
	}
}

func TestMessagesAreTakenBackAndRead(t *testing.T) {
	s := start(t)
	var deleted struct{ Timestamp string }
	s.must(201, "DELETE", "/v1/remote-delete/"+bot, `{"recipient":"`+publicKoty+`","timestamp":5}`, &deleted)
	s.must(204, "POST", "/v1/receipts/"+bot, `{"recipient":"`+ala+`","receipt_type":"read","timestamp":6}`, nil)
	if status, _, answer := s.call("POST", "/v1/receipts/"+bot, `{"recipient":"`+ala+`","receipt_type":"seen","timestamp":6}`); status != 400 {
		t.Errorf("%d %s", status, answer)
	}
	if a := s.dialRPC().call("remoteDelete", params(`"targetTimestamp":7`)); a.Error != nil {
		t.Errorf("%+v", a.Error)
	}
	list, read := s.calls("remote_delete"), s.calls("receipt")
	if len(deleted.Timestamp) != 13 || len(list) != 2 || list[0].Group != koty.ID || list[0].Timestamp != 5 || list[1].Via != "rpc" || len(read) != 1 || read[0].Recipient != ala {
		t.Errorf("%+v, %+v, %+v", deleted, list, read)
	}
}

func TestSignsAreNotedWithWhatTheyAreAbout(t *testing.T) {
	s := start(t)
	s.must(204, "POST", "/v1/reactions/"+bot, `{"recipient":"`+publicKoty+`","reaction":"👍","target_author":"`+ala+`","timestamp":5}`, nil)
	s.must(204, "PUT", "/v1/typing-indicator/"+bot, `{"recipient":"`+ala+`"}`, nil)
	list := s.calls("")
	if len(list) != 2 || list[0].Kind != "reaction" || list[0].Emoji != "👍" || list[0].TargetAuthor != ala || list[0].Timestamp != 5 || list[1].Kind != "typing" || list[1].Recipient != ala {
		t.Errorf("%+v", list)
	}
	var page struct{ Calls []signalnet.Call }
	if s.must(200, "GET", "/_sim/calls?kind=typing&after=2&wait=10ms", "", &page); len(page.Calls) != 0 {
		t.Errorf("%+v", page)
	}
}
