package signalrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"quartet/services/botd/internal/signalrpc"
	"quartet/services/botd/internal/transport"
)

// same reports whether a call is method and params, as "METHOD {…}".
func same(t *testing.T, r request, call string) bool {
	t.Helper()
	method, params, _ := strings.Cut(call, " ")
	var want map[string]any
	if err := json.Unmarshal([]byte(params), &want); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(r.Params)
	b, _ := json.Marshal(want)
	return r.Method == method && string(a) == string(b)
}

func profile(p transport.Profile) func(*signalrpc.Client) error {
	return func(c *signalrpc.Client) error { return c.SetProfile(context.Background(), p) }
}

func TestCallsAboutTheAccountSayWhatSignalCLIExpects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.png")
	if err := os.WriteFile(path, []byte("\xff\xd8"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for name, c := range map[string]struct {
		call func(*signalrpc.Client) error
		want string
	}{
		"leave": {func(c *signalrpc.Client) error { return c.Leave(ctx, group) }, `quitGroup {"account":"` + number + `","groupId":"` + group + `"}`},
		"trust": {func(c *signalrpc.Client) error { return c.Trust(ctx, ala) }, `trust {"account":"` + number + `","recipient":"` + ala + `","trustAllKnownKeys":true}`},
		"a name": {profile(transport.Profile{Name: `bot "k"`}),
			`updateProfile {"account":"` + number + `","givenName":"bot \"k\""}`},
		"a whole profile": {profile(transport.Profile{Name: "bot", About: "koty", Avatar: &transport.Attachment{ContentType: "image/jpeg", Filename: "b.jpg", Data: []byte("\xff\xd8")}}),
			`updateProfile {"account":"` + number + `","givenName":"bot","about":"koty","avatar":"data:image/jpeg;filename=b.jpg;base64,/9g="}`},
		"a picture in a file": {profile(transport.Profile{Name: "bot", Avatar: &transport.Attachment{ContentType: "image/png", Path: path}}),
			`updateProfile {"account":"` + number + `","givenName":"bot","avatar":"data:image/png;filename=bot.png;base64,/9g="}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got request
			if err := c.call(recorder(t, signalrpc.Options{}, func(r request) { got = r })); err != nil {
				t.Fatal(err)
			}
			if !same(t, got, c.want) {
				t.Errorf("got  %+v\nwant %s", got, c.want)
			}
		})
	}
}

func TestOurPictureIsHandedOverAsAFileAndGoneAfterwards(t *testing.T) {
	folder := t.TempDir()
	client := recorder(t, signalrpc.Options{Spool: folder}, func(r request) {
		if content, err := os.ReadFile(r.Params["avatar"].(string)); err != nil || string(content) != "picture" {
			t.Errorf("it holds %q, %v", content, err)
		}
	})
	if err := profile(transport.Profile{Name: "bot", Avatar: &transport.Attachment{Filename: "b.jpg", Data: []byte("picture")}})(client); err != nil {
		t.Error(err)
	}
	if left := files(t, folder); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestNothingIsAskedForNobody(t *testing.T) {
	client := recorder(t, signalrpc.Options{}, func(request) { t.Error("a call was made") })
	for _, err := range []error{
		client.Leave(t.Context(), ""), client.Trust(t.Context(), ""), client.SetProfile(t.Context(), transport.Profile{About: "x"}),
		client.SetProfile(t.Context(), transport.Profile{Name: "x", Avatar: &transport.Attachment{Path: "/nowhere/x"}}),
		client.Link(t.Context(), "", func(string) {}),
	} {
		if !notSent(err) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWhatSignalCLICannotDoIsSaidSo(t *testing.T) {
	client := recorder(t, signalrpc.Options{}, func(request) { t.Error("a call was made") })
	if err := client.DeleteAttachment(t.Context(), "x.jpg"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "--ignore-attachments") {
		t.Errorf("got %v", err)
	}
}

func TestARefusalAboutTheAccountIsSorted(t *testing.T) {
	for text, class := range map[string]transport.Class{
		"You need to specify a new admin with --admin: User is last admin":               transport.ClassBug,
		"Failed to set the trust for this number, make sure the number is correct.":      transport.ClassBug,
		"The user 11111111-1111-4111-8111-111111111111 is not registered.":               transport.ClassChat,
		"Group not found: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=":                  transport.ClassChat,
		"Update profile error: Connection closed!":                                       transport.ClassTransient,
		"Specified account does not exist":                                               transport.ClassAccount,
		"Failed to send message: [429] Rate limit exceeded: 429 (RateLimitException)":    transport.ClassRateLimit,
		"Failed to send message: No prekeys available for 11111111-1111-4111-8111-11111": transport.ClassTransient,
	} {
		client := piped(t, func(p *peer) {
			for {
				r, ok := p.next()
				if !ok {
					return
				}
				p.refuse(r, -1, text)
			}
		})
		for _, err := range []error{client.Leave(t.Context(), group), client.Trust(t.Context(), ala), client.SetProfile(t.Context(), transport.Profile{Name: "x"})} {
			e, ok := errors.AsType[*transport.Error](err)
			if !ok || e.Class != class || isUnknown(err) != class.Action().MayHaveArrived || strings.Contains(err.Error(), "AAECAw") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// A group whose members all have new keys is refused with their names, which is
// what is needed to trust them and send once more.
func TestARefusalNamesThoseWhoseKeyHasChanged(t *testing.T) {
	client := piped(t, func(p *peer) {
		r, _ := p.next()
		one := `{"recipientAddress":{"uuid":"` + ala + `","number":null},"groupId":"x","type":"IDENTITY_FAILURE"}`
		two := `{"recipientAddress":{"uuid":null,"number":"+15550111111"},"groupId":"x","type":"IDENTITY_FAILURE"}`
		p.say(`{"id":%s,"error":{"code":-4,"message":"Failed to send message due to untrusted identities","data":{"response":{"timestamp":5,"results":[%s,%s]}}}}`, r.ID, one, two)
	})
	_, err := client.Send(t.Context(), hello)
	e, ok := errors.AsType[*transport.Error](err)
	if !ok || e.Class != transport.ClassIdentity || isUnknown(err) {
		t.Fatalf("got %v", err)
	}
	if got := transport.Untrusted(e.Failed); strings.Join(got, " ") != ala+" +15550111111" {
		t.Errorf("untrusted are %q", got)
	}
}

func TestLinkShowsTheCodeAndWaitsForTheAccount(t *testing.T) {
	const code = `sgnl://linkdevice?uuid=x&pub_key=y`
	for name, c := range map[string]struct {
		start, finish string // results; "CODE TEXT" with a minus for a refusal
		says          string // "" for no error
		shown         int
		class         transport.Class
	}{
		"all well":         {`{"deviceLinkUri":"` + code + `"}`, `{"number":"` + number + `"}`, "", 1, ""},
		"another account":  {`{"deviceLinkUri":"` + code + `"}`, `{"number":"+2"}`, "BOTD_NUMBER", 1, ""},
		"nobody scanned":   {`{"deviceLinkUri":"` + code + `"}`, "-1 Link request timed out, please try again.", "try again", 1, transport.ClassTransient},
		"it is there":      {`{"deviceLinkUri":"` + code + `"}`, "-1 The user +15550100000 already exists", "already exists", 1, transport.ClassBug},
		"for one account":  {"-32601 Method not implemented", "", "without --account", 0, transport.ClassBug},
		"no way to Signal": {"-3 Link request error: Connection reset", "", "Link request error", 0, transport.ClassTransient},
		"an empty code":    {`{}`, "", "empty code", 0, ""},
		"nonsense":         {`[]`, "", "read the code", 0, ""},
		"nonsense later":   {`{"deviceLinkUri":"` + code + `"}`, `7`, "read the answer", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := piped(t, func(p *peer) {
				for {
					r, ok := p.next()
					if !ok {
						return
					}
					answer := c.start
					if r.Method == "finishLink" {
						answer = c.finish
						if !same(t, r, `finishLink {"deviceLinkUri":"`+code+`","deviceName":"bot \"k\""}`) {
							t.Errorf("asked %+v", r)
						}
					} else if r.Method != "startLink" || r.Params != nil {
						t.Errorf("asked %+v", r)
					}
					if code, text, ok := strings.Cut(answer, " "); ok && strings.HasPrefix(code, "-") {
						p.say(`{"id":%s,"error":{"code":%s,"message":%q}}`, r.ID, code, text)
					} else {
						p.result(r, answer)
					}
				}
			})
			shown := 0
			err := client.Link(t.Context(), `bot "k"`, func(uri string) {
				if shown++; uri != code {
					t.Errorf("shown %q", uri)
				}
			})
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || shown != c.shown {
				t.Errorf("shown %d times: %v", shown, err)
			}
			if e, ok := errors.AsType[*transport.Error](err); ok != (c.class != "") || ok && e.Class != c.class {
				t.Errorf("got %v, want class %q", err, c.class)
			}
			if err != nil && (strings.Contains(err.Error(), number) || strings.Contains(err.Error(), "+2")) {
				t.Errorf("the error has a number: %v", err)
			}
		})
	}
}

func TestLinkEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := piped(t, func(p *peer) {
			r, _ := p.next()
			p.result(r, `{"deviceLinkUri":"x"}`)
			p.next()
			p.next() // until the client goes
		})
		ctx, stop := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		ended := make(chan error, 1)
		go func() { ended <- client.Link(ctx, "bot", func(string) {}) }()
		synctest.Wait()
		stop(enough)
		if err := <-ended; !errors.Is(err, enough) {
			t.Errorf("ended by %v", err)
		}
	})
}

func TestAccountsAreListed(t *testing.T) {
	client := piped(t, (*peer).answerAll)
	if got, err := client.Accounts(t.Context()); err != nil || strings.Join(got, " ") != number {
		t.Errorf("%q, %v", got, err)
	}
}
