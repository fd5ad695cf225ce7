package signalapi_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quartet/services/botd/internal/signalapi"
	"quartet/services/botd/internal/transport"
)

// noting answers every call with status and body, and notes it.
func noting(t *testing.T, status int, body string) (*signalapi.Client, *[]string) {
	var got []string
	return client(t, func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(sent)))
		w.WriteHeader(status)
		io.WriteString(w, body)
	}), &got
}

func TestCallsAboutTheAccountGoWhereTheServerHasThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bot.png")
	if err := os.WriteFile(path, []byte("PNG"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, got := noting(t, http.StatusNoContent, "")
	ctx := t.Context()
	for _, err := range []error{
		c.Leave(ctx, "AB/+CD=="),
		c.Trust(ctx, "11111111-1111-4111-8111-111111111111"),
		c.Trust(ctx, "+15550111111"),
		c.SetProfile(ctx, transport.Profile{Name: `bot "k"`}),
		c.SetProfile(ctx, transport.Profile{Name: "bot", About: "koty", Avatar: &transport.Attachment{Data: []byte("\xff\xd8")}}),
		c.SetProfile(ctx, transport.Profile{Name: "bot", Avatar: &transport.Attachment{Path: path}}),
		c.DeleteAttachment(ctx, "x y.jpg"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{
		`POST /v1/groups/+15550100000/group.QUIvK0NEPT0=/quit`,
		`PUT /v1/identities/+15550100000/trust/11111111-1111-4111-8111-111111111111 {"trust_all_known_keys":true}`,
		`PUT /v1/identities/+15550100000/trust/+15550111111 {"trust_all_known_keys":true}`,
		`PUT /v1/profiles/+15550100000 {"name":"bot \"k\""}`,
		`PUT /v1/profiles/+15550100000 {"name":"bot","about":"koty","base64_avatar":"/9g="}`,
		`PUT /v1/profiles/+15550100000 {"name":"bot","base64_avatar":"` + base64.StdEncoding.EncodeToString([]byte("PNG")) + `"}`,
		`DELETE /v1/attachments/x%20y.jpg`,
	}
	if !slices.Equal(*got, want) {
		t.Errorf("the server got\n%s\nwant\n%s", strings.Join(*got, "\n"), strings.Join(want, "\n"))
	}
}

// What has no name, or one that would lead to another path, asks for nothing.
func TestNothingIsAskedOfAnotherPath(t *testing.T) {
	c, got := noting(t, http.StatusNoContent, "")
	ctx := t.Context()
	errs := []error{
		c.Leave(ctx, ""),
		c.SetProfile(ctx, transport.Profile{About: "x"}),
		c.SetProfile(ctx, transport.Profile{Name: "x", Avatar: &transport.Attachment{Path: "/nowhere/x"}}),
	}
	for _, id := range []string{"", ".", "..", "a/b", "../../v1/profiles", `a\b`} {
		errs = append(errs, c.DeleteAttachment(ctx, id), c.Trust(ctx, id))
	}
	for i, err := range errs {
		if err == nil || errors.Is(err, transport.ErrOutcomeUnknown) {
			t.Errorf("%d: %v, want an error that says that nothing was asked", i, err)
		}
	}
	if len(*got) != 0 {
		t.Errorf("the server got %q", *got)
	}
}

func TestARefusalAboutTheAccountIsSorted(t *testing.T) {
	for _, c := range []struct {
		status  int
		text    string
		class   transport.Class
		unknown bool
	}{
		{400, "You need to specify a new admin with --admin: User is last admin", transport.ClassBug, false},
		{400, "Failed to set the trust for this number, make sure the number is correct.", transport.ClassBug, false},
		{400, "Specified account does not exist", transport.ClassAccount, false},
		{400, "The user +15550111111 is not registered.", transport.ClassChat, false},
		{400, "Update profile error: Connection reset", transport.ClassTransient, true},
		{404, "404 page not found", transport.ClassBug, false},
	} {
		cl, _ := noting(t, c.status, `{"error":"`+c.text+`"}`)
		for _, err := range []error{
			cl.Leave(t.Context(), "x"), cl.Trust(t.Context(), "x"), cl.SetProfile(t.Context(), transport.Profile{Name: "x"}), cl.DeleteAttachment(t.Context(), "x"),
		} {
			refused, ok := errors.AsType[*transport.Error](err)
			if !ok || refused.Class != c.class || errors.Is(err, transport.ErrOutcomeUnknown) != c.unknown || strings.Contains(err.Error(), "15550111111") {
				t.Errorf("%s: %v", c.text, err)
			}
		}
	}
}

func TestAFileThatIsGoneNeedsNoDeleting(t *testing.T) {
	c, _ := noting(t, http.StatusNotFound, `{"error":"No attachment with that name found"}`)
	if err := c.DeleteAttachment(t.Context(), "x.jpg"); err != nil {
		t.Error(err)
	}
}
