package transport_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quartet/services/botd/internal/transport"
)

func TestRESTRefusalsAreSortedByTheirWords(t *testing.T) {
	for _, c := range []struct {
		status int
		text   string
		want   transport.Class
	}{
		{400, "Couldn't process request - please provide at least one recipient", transport.ClassBug},
		{400, "Invalid group id", transport.ClassBug},
		{400, "illegal base64 data at input byte 4", transport.ClassBug},
		{400, "invalid request", transport.ClassBug},
		{400, "Signal Messenger Groups and phone numbers cannot be specified together in one request!", transport.ClassBug},
		{400, "A signal message cannot be sent to more than one group at once!", transport.ClassBug},
		{400, "'view_once' can only be set for image attachments!", transport.ClassBug},
		{400, "Link Preview URL is missing in the message!", transport.ClassBug},
		{400, "Username must contain a '.'", transport.ClassBug},
		{404, "404 page not found", transport.ClassBug},
		{400, "Specified account does not exist", transport.ClassAccount},
		{400, "Method requires valid account parameter", transport.ClassAccount},
		{400, "[403] Authorization failed!", transport.ClassAccount},
		{400, "Failed to send message due to untrusted identities", transport.ClassIdentity},
		{400, "Unable to complete request due to untrusted recipient keys", transport.ClassIdentity},
		{400, "The user 11111111-1111-4111-8111-111111111111 is not registered.", transport.ClassChat},
		{400, `Unregistered user "+15550111111"`, transport.ClassChat},
		{400, "User is not a group member", transport.ClassChat},
		{400, "User is not a member in group: koty (AAEC=)", transport.ClassChat},
		{400, "Group not found: AAEC=", transport.ClassChat},
		{400, "User is not allowed to send message to group: koty (AAEC=)", transport.ClassChat},
		{429, "whatever it says", transport.ClassRateLimit},
		{400, "Failed to upload attachment: [429] Rate limit exceeded: 429 (RateLimitException)", transport.ClassRateLimit},
		{400, "[413] Rate limit exceeded: 413", transport.ClassRateLimit},
		{400, "Failed to send message due to rate limiting", transport.ClassRateLimit},
		{400, `CAPTCHA proof required for sending to "+15550111111"`, transport.ClassRateLimit},
		{400, "Failed to upload attachment: [413] https://cdn3.signal.org/attachments (NonSuccessfulResponseCodeException)", transport.ClassTooLarge},
		{413, "", transport.ClassTooLarge},
		{400, "Failed to send message: No prekeys available (UnexpectedErrorException)", transport.ClassTransient},
		{400, `Network failure for "+15550111111"`, transport.ClassTransient},
		{400, "Connection closed!", transport.ClassTransient},
		{400, "Failed to send message: Invalid response (IOException)", transport.ClassTransient},
		{400, "Request timed out", transport.ClassTransient},
		{502, "Bad Gateway", transport.ClassTransient},
		{400, "Cannot send message to group - please first update your profile.", transport.ClassProfile},
		{400, "Failed to send message: Failed to add attachment /x/k.png: no such file (AttachmentInvalidException)", transport.ClassBug},
		{400, "Couldn't process request - profile name missing", transport.ClassBug},
		{400, "Failed to set the trust for this number, make sure the number is correct.", transport.ClassBug},
		{400, "You need to specify a new admin with --admin: User is last admin in group: koty (AAEC=)", transport.ClassBug},
		{400, "Update profile error: Connection closed!", transport.ClassTransient},
		{400, "sunspots", transport.ClassUnknown},
		{500, "", transport.ClassUnknown},
	} {
		if got := transport.ClassifyREST(c.status, c.text); got != c.want {
			t.Errorf("%d %q is %s, want %s", c.status, c.text, got, c.want)
		}
	}
}

func TestRPCRefusalsAreSortedByCodeRecipientsAndWords(t *testing.T) {
	failed := func(reasons ...string) (all []transport.Failure) {
		for _, r := range reasons {
			all = append(all, transport.Failure{Reason: r})
		}
		return all
	}
	for _, c := range []struct {
		code   int
		text   string
		failed []transport.Failure
		want   transport.Class
	}{
		{-5, "Failed to send message due to rate limiting", nil, transport.ClassRateLimit},
		{-6, "rejected", nil, transport.ClassRateLimit},
		{-4, "whatever", nil, transport.ClassIdentity},
		{-3, "Failed to send message: Connection closed! (IOException)", nil, transport.ClassTransient},
		{-3, "words", nil, transport.ClassTransient},
		{-1, "words", nil, transport.ClassBug},
		{-1, "Group not found: AAEC=", nil, transport.ClassChat},
		{-1, "Cannot send message to group - please first update your profile.", nil, transport.ClassProfile},
		{-32700, "", nil, transport.ClassBug},
		{-32600, "Unrecognized field", nil, transport.ClassBug},
		{-32601, "Method not implemented", nil, transport.ClassBug},
		{-32602, "Specified account does not exist", nil, transport.ClassAccount},
		{-32602, "words", nil, transport.ClassBug},
		{-32603, "Failed to upload attachment: [429] Rate limit exceeded: 429 (RateLimitException)", nil, transport.ClassRateLimit},
		{-32603, "[413] https://cdn3.signal.org/x", nil, transport.ClassTooLarge},
		{-32603, "No prekeys available", nil, transport.ClassTransient},
		{-32603, "words", nil, transport.ClassUnknown},
		{7, "words", nil, transport.ClassUnknown},
		{-1, "Failed to send message", failed("UNREGISTERED_FAILURE"), transport.ClassChat},
		{-1, "Failed to send message", failed("IDENTITY_FAILURE", "UNREGISTERED_FAILURE"), transport.ClassIdentity},
		{-3, "Failed to send message", failed("UNREGISTERED_FAILURE", "NETWORK_FAILURE"), transport.ClassTransient},
		{-1, "Failed to send message", failed("IDENTITY_FAILURE", "RATE_LIMIT_FAILURE"), transport.ClassRateLimit},
		{-1, "Failed to send message", failed("INVALID_PRE_KEY_FAILURE"), transport.ClassTransient},
		{-1, "Failed to send message", failed("IDENTITY_FAILURE", "SOLAR_FLARE"), transport.ClassUnknown},
	} {
		if got := transport.ClassifyRPC(c.code, c.text, c.failed); got != c.want {
			t.Errorf("%d %q %v is %s, want %s", c.code, c.text, c.failed, got, c.want)
		}
	}
}

// Whose key has changed is told by the server or by nobody: the bot cannot
// trust whom it does not know.
func TestThoseWhoseKeyHasChangedAreNamed(t *testing.T) {
	e := &transport.Error{Class: transport.ClassIdentity, Failed: []transport.Failure{
		{Recipient: "u1", Reason: "IDENTITY_FAILURE"},
		{Recipient: "u2", Reason: "NETWORK_FAILURE"},
		{Recipient: "", Reason: "IDENTITY_FAILURE"},
		{Recipient: "+15550111111", Reason: "IDENTITY_FAILURE"},
	}}
	if a := e.Action(); a.Repair != transport.RepairTrust || !a.RetryOnce || a.MayHaveArrived {
		t.Errorf("action is %+v", a)
	}
	if got := transport.Untrusted(e.Failed); !slices.Equal(got, []string{"u1", "+15550111111"}) {
		t.Errorf("untrusted are %q", got)
	}
}

func TestWhatMayHaveArrivedIsNeverSentAgain(t *testing.T) {
	none := transport.Action{}
	for _, class := range append(transport.Classes(), "made up") {
		a := class.Action()
		if a == none {
			t.Errorf("%s has no action", class)
		}
		if a.MayHaveArrived && a.RetryOnce {
			t.Errorf("%s may have arrived and is sent again", class)
		}
		if (a.Repair != transport.RepairNone) != a.RetryOnce {
			t.Errorf("%s: a retry without a repair, or the other way round: %+v", class, a)
		}
		err := fmt.Errorf("send: %w", &transport.Error{Class: class})
		if errors.Is(err, transport.ErrOutcomeUnknown) != a.MayHaveArrived {
			t.Errorf("%s: error and action do not agree", class)
		}
	}
	if !errors.Is(&transport.Error{Class: transport.ClassChat, Reached: 1}, transport.ErrOutcomeUnknown) {
		t.Error("somebody has it, so it must not be sent again")
	}
}

func TestListsHoldNothingTwice(t *testing.T) {
	classes, rejects := transport.Classes(), transport.Rejects()
	slices.Sort(classes)
	slices.Sort(rejects)
	if n := len(slices.Compact(classes)); n != 9 {
		t.Errorf("%d classes", n)
	}
	if n := len(slices.Compact(rejects)); n != 3 {
		t.Errorf("%d reasons", n)
	}
}

func TestAnErrorTellsALogNoNumbers(t *testing.T) {
	for text, want := range map[string]string{
		`Unregistered user "+15550111111"`: `Unregistered user "+…"`,
		"15550111111":                      "…",
		"[429] after 60 s":                 "[429] after 60 s",
		"1234567 and 123456":               "… and 123456",

		"Failed to send to 1b7e9a6c-0d3f-4c55-9a41-7E2f00c0ffee: gone":                                  "Failed to send to …: gone",
		"User is not a member in group: Koty z Wielkiej (AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=)": "User is not a member in group: …(…)",
		"Group not found: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=":                                 "Group not found: …",
		"group.QUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEhoOD0= is unknown":                 "group.… is unknown",
		strings.Repeat("x ", 98) + "+15550111111":                                                       strings.Repeat("x ", 98) + "+…",
		"": "",
	} {
		e := transport.Error{Class: transport.ClassChat, Code: -1, Text: text}
		if got := e.Error(); got != "refused (chat, code -1): "+want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	long := transport.Error{Text: strings.Repeat("ż", 5000)}
	if n := len(long.Error()); n > 250 {
		t.Errorf("%d bytes go into a log line", n)
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(400, "[413] Rate limit exceeded", "IDENTITY_FAILURE")
	f.Add(-1, "Unregistered user +15550111111", "")
	f.Fuzz(func(t *testing.T, code int, text, reason string) {
		known := transport.Classes()
		for _, class := range []transport.Class{
			transport.ClassifyREST(code, text),
			transport.ClassifyRPC(code, text, []transport.Failure{{Reason: reason}}),
		} {
			if !slices.Contains(known, class) {
				t.Errorf("%q is no class", class)
			}
		}
		digits := 0
		for _, r := range (&transport.Error{Text: text}).Error() {
			if '0' <= r && r <= '9' {
				digits++
			} else {
				digits = 0
			}
			if digits >= 7 {
				t.Fatalf("a number is in the log: %q", text)
			}
		}
	})
}
