package signalrpc_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quartet/kit/journal/disk"
	"quartet/services/botd/internal/signalrpc"
	"quartet/services/botd/internal/transport"
)

// recorder returns a client with options o whose calls go to look, and are
// answered well.
func recorder(t *testing.T, o signalrpc.Options, look func(request)) *signalrpc.Client {
	t.Helper()
	return pipedWith(t, o, func(p *peer) {
		for {
			r, ok := p.next()
			if !ok {
				return
			}
			look(r)
			p.usual(r)
		}
	})
}

func TestCallsSayWhatSignalCLIExpects(t *testing.T) {
	inGroup, direct := transport.Chat{Group: group}, transport.Chat{User: ala}
	for name, c := range map[string]struct {
		call func(*signalrpc.Client) error
		want string
	}{
		"a text to a group": {sending(transport.Outgoing{Chat: inGroup, Text: "zażółć \"x\"\n\x00"}),
			`send {"account":"+15550100000","groupId":"` + group + `","message":"zażółć \"x\"\n\u0000","notifySelf":false}`},
		"a group is answered in the group, whoever asked": {sending(transport.Outgoing{Chat: transport.Chat{Group: group, User: ala}, Text: "hej"}),
			`send {"account":"+15550100000","groupId":"` + group + `","message":"hej","notifySelf":false}`},
		"a text to a person": {sending(transport.Outgoing{Chat: direct, Text: "hej"}),
			`send {"account":"+15550100000","recipient":"` + ala + `","message":"hej","notifySelf":false}`},
		"a quote and mentions": {sending(transport.Outgoing{Chat: inGroup, Text: "\ufffc hej \ufffc",
			Mentions: []transport.Mention{{Start: 0, Length: 1, Author: ala}, {Start: 6, Length: 1, Author: "x"}},
			Quote:    &transport.Quote{Timestamp: 1700000000001, Author: ala, Text: "\ufffc !kot", Mentions: []transport.Mention{{Start: 0, Length: 1, Author: "y"}}}}),
			`send {"account":"+15550100000","groupId":"` + group + `","message":"\ufffc hej \ufffc","mention":["0:1:` + ala + `","6:1:x"],
			"quoteTimestamp":1700000000001,"quoteAuthor":"` + ala + `","quoteMessage":"\ufffc !kot","quoteMention":["0:1:y"],"notifySelf":false}`},
		"a picture": {sending(transport.Outgoing{Chat: direct, Attachment: &transport.Attachment{ContentType: "image/jpeg", Filename: `k"o;t.jpg`, Data: []byte("\xff\xd8")}}),
			`send {"account":"+15550100000","recipient":"` + ala + `","message":"","notifySelf":false,"attachment":["data:image/jpeg;filename=k_o_t.jpg;base64,/9g="]}`},
		"a reaction": {func(c *signalrpc.Client) error {
			return c.React(t.Context(), transport.Reaction{Chat: inGroup, Emoji: "👍", Author: ala, Timestamp: 5})
		}, `sendReaction {"account":"+15550100000","groupId":"` + group + `","emoji":"👍","targetAuthor":"` + ala + `","targetTimestamp":5,"remove":false}`},
		"typing": {func(c *signalrpc.Client) error { return c.Typing(t.Context(), inGroup, true) },
			`sendTyping {"account":"+15550100000","groupId":"` + group + `","stop":false}`},
		"no longer typing": {func(c *signalrpc.Client) error { return c.Typing(t.Context(), direct, false) },
			`sendTyping {"account":"+15550100000","recipient":"` + ala + `","stop":true}`},
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

func sending(o transport.Outgoing) func(*signalrpc.Client) error {
	return func(c *signalrpc.Client) error {
		_, err := c.Send(context.Background(), o)
		return err
	}
}

func TestNothingIsSentToNobody(t *testing.T) {
	client := recorder(t, signalrpc.Options{}, func(request) { t.Error("a call was made") })
	if err := sending(transport.Outgoing{Text: "x"})(client); !notSent(err) {
		t.Errorf("got %v", err)
	}
}

// files lists what a folder holds, at any depth, but the spool's lock.
func files(t *testing.T, folder string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			all = append(all, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func attachment(r request) string { return r.Params["attachment"].([]any)[0].(string) }

func TestAPictureIsHandedOverAsAFileAndGoneAfterwards(t *testing.T) {
	folder := t.TempDir()
	client := recorder(t, signalrpc.Options{Spool: folder}, func(r request) {
		path := attachment(r)
		content, err := os.ReadFile(path)
		if err != nil || string(content) != "picture" || !filepath.IsAbs(path) || filepath.Ext(path) != ".jpg" || !strings.HasPrefix(filepath.Base(path), "kot") {
			t.Errorf("%s holds %q, %v", path, content, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
	for range 3 {
		if err := sending(transport.Outgoing{Chat: hello.Chat, Attachment: &transport.Attachment{Filename: "kot.jpg", Data: []byte("picture")}})(client); err != nil {
			t.Error(err)
		}
	}
	if left := files(t, folder); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestNoFileNameLeadsOutOfTheSpool(t *testing.T) {
	folder := t.TempDir()
	var paths []string
	client := recorder(t, signalrpc.Options{Spool: folder}, func(r request) { paths = append(paths, attachment(r)) })
	for _, name := range []string{"../../x.jpg", "", ".", "..", "/etc/passwd", "a\x00b", strings.Repeat("n", 5000) + ".jpg", "x." + strings.Repeat("e", 5000), "data:x;base64,"} {
		if err := sending(transport.Outgoing{Chat: hello.Chat, Attachment: &transport.Attachment{Filename: name, Data: []byte("x")}})(client); err != nil {
			t.Errorf("%.30q: %v", name, err)
		}
	}
	for _, path := range paths {
		if filepath.Dir(path) != filepath.Join(folder, "botd-spool") {
			t.Errorf("%s is elsewhere", path)
		}
	}
}

func TestWhatDoesNotFitIntoTheSpoolGoesInsideTheCall(t *testing.T) {
	folder := t.TempDir()
	var forms []string
	client := recorder(t, signalrpc.Options{Spool: folder}, func(r request) { forms = append(forms, attachment(r)) })
	client.LimitSpool(10)
	for _, size := range []int{10, 11, 10} {
		if err := sending(transport.Outgoing{Chat: hello.Chat, Attachment: &transport.Attachment{ContentType: "a/b", Filename: "k.x", Data: make([]byte, size)}})(client); err != nil {
			t.Error(err)
		}
	}
	if !filepath.IsAbs(forms[0]) || !strings.HasPrefix(forms[1], "data:a/b;") || !filepath.IsAbs(forms[2]) {
		t.Errorf("sent as %v", forms)
	}
}

// A spool that cannot be written keeps no picture from anybody, and the log says
// when that began and when it was over.
func TestPicturesGoInsideTheCallWhereTheSpoolFails(t *testing.T) {
	folder := t.TempDir()
	var forms, log strings.Builder
	client := recorder(t, signalrpc.Options{Spool: folder, Log: slog.New(slog.NewTextHandler(&log, nil))}, func(r request) {
		fmt.Fprintln(&forms, strings.HasPrefix(attachment(r), "data:image/jpeg;"))
	})
	for n := 2; n <= 3; n++ { // these names are taken when their turn comes
		if err := os.WriteFile(filepath.Join(folder, "botd-spool", fmt.Sprintf("kot-%d.jpg", n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	send := func() {
		t.Helper()
		if err := sending(transport.Outgoing{Chat: hello.Chat, Attachment: &transport.Attachment{ContentType: "image/jpeg", Filename: "kot.jpg", Data: []byte("picture")}})(client); err != nil {
			t.Error(err)
		}
	}
	for range 4 {
		send()
	}
	if err := os.RemoveAll(filepath.Join(folder, "botd-spool")); err != nil {
		t.Fatal(err)
	}
	send()
	if got := forms.String(); got != "false\ntrue\ntrue\nfalse\ntrue\n" {
		t.Errorf("inside the call: %q", got)
	}
	if got := log.String(); strings.Count(got, "go inside the call") != 2 || strings.Count(got, "as files again") != 1 {
		t.Errorf("logged %s", got)
	}
}

// What lies in the spool of one that runs is being read: nobody else empties it.
func TestSpoolIsOneClientsAtATime(t *testing.T) {
	folder := t.TempDir()
	first, err := signalrpc.New(signalrpc.Options{Spool: folder})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "botd-spool", "kot-1.jpg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := signalrpc.New(signalrpc.Options{Spool: folder}); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	if left := files(t, folder); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	recorder(t, signalrpc.Options{Spool: folder}, func(request) {})
	if left := files(t, folder); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWhatAKilledRunLeftIsRemovedAndNothingElse(t *testing.T) {
	folder := t.TempDir()
	ours := filepath.Join(folder, "botd-spool")
	if err := os.Mkdir(ours, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(ours, "kot-7.jpg"), filepath.Join(folder, "dear.jpg")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recorder(t, signalrpc.Options{Spool: folder}, func(request) {})
	if left := files(t, folder); !slices.Equal(left, []string{"dear.jpg"}) {
		t.Errorf("left: %v", left)
	}
}

func TestASpoolThatCannotBeIsToldAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := signalrpc.New(signalrpc.Options{Spool: file}); err == nil {
		t.Error("no error")
	}
}

func TestAFileIsSentByItsPathOrRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kot.png")
	if err := os.WriteFile(path, []byte("picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := transport.Outgoing{Chat: hello.Chat, Attachment: &transport.Attachment{ContentType: "image/png", Path: path}}
	for spool, want := range map[string]string{
		"":          "data:image/png;filename=kot.png;base64," + base64.StdEncoding.EncodeToString([]byte("picture")),
		t.TempDir(): path,
	} {
		var got string
		if err := sending(out)(recorder(t, signalrpc.Options{Spool: spool}, func(r request) { got = attachment(r) })); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	out.Attachment.Path = path + "x"
	client := recorder(t, signalrpc.Options{}, func(request) { t.Error("a call was made") })
	if err := sending(out)(client); !notSent(err) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestReceiptsAreReadAsTheyAre(t *testing.T) {
	one := func(kind string) string {
		return `{"recipientAddress":{"uuid":"` + ala + `","number":"+15550111111"},"groupId":"x","type":"` + kind + `","token":"tok","retryAfterSeconds":60}`
	}
	for _, c := range []struct {
		name, raw string
		failed    int
		class     transport.Class // of the refusal, "" for a receipt
		unknown   bool
	}{
		{"all reached", success, 0, "", false},
		{"a note to self reaches nobody else", `{"timestamp":5,"results":[]}`, 0, "", false},
		{"some reached", `{"timestamp":5,"results":[` + one("SUCCESS") + `,` + one("IDENTITY_FAILURE") + `]}`, 1, "", false},
		{"nobody reached", `{"timestamp":5,"results":[` + one("UNREGISTERED_FAILURE") + `]}`, 1, transport.ClassChat, false},
		{"nobody reached, too fast", `{"timestamp":5,"results":[` + one("RATE_LIMIT_FAILURE") + `]}`, 1, transport.ClassRateLimit, true},
		{"no timestamp", `{"results":[]}`, 0, "", true},
		{"null", `null`, 0, "", true},
		{"no object", `[]`, 0, "", true},
		{"no JSON", `{"timestamp"`, 0, "", true},
		{"a timestamp that is none", `{"timestamp":"soon"}`, 0, "", true},
	} {
		receipt, err := signalrpc.ReadReceipt([]byte(c.raw))
		refused, isRefusal := errors.AsType[*transport.Error](err)
		if isRefusal != (c.class != "") || isUnknown(err) != c.unknown || (err == nil) != (receipt.Timestamp != 0) {
			t.Errorf("%s: %+v, %v", c.name, receipt, err)
			continue
		}
		failed := receipt.Failed
		if isRefusal {
			failed = refused.Failed
			if refused.Class != c.class || refused.RetryAfter != time.Minute || !slices.Equal(refused.Challenges, []string{"tok"}) {
				t.Errorf("%s: %+v", c.name, refused)
			}
		}
		if len(failed) != c.failed || c.failed > 0 && (failed[0].Recipient != ala || failed[0].RetryAfter != time.Minute) {
			t.Errorf("%s: failed %+v", c.name, failed)
		}
	}
}

func TestRefusalsAreReadAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		raw     string
		code    int
		class   transport.Class
		retry   time.Duration
		reached int
	}{
		{`{"code":-5,"message":"x","data":{"response":{"timestamp":1,"results":[{"type":"RATE_LIMIT_FAILURE","retryAfterSeconds":86400}]}}}`, -5, transport.ClassRateLimit, 24 * time.Hour, 0},
		{`{"code":-5,"message":"x","data":{"response":{"results":[{"type":"RATE_LIMIT_FAILURE","retryAfterSeconds":1e300},{"type":"SUCCESS"}]}}}`, -5, transport.ClassRateLimit, 24 * time.Hour, 1},
		{`{"code":-5,"message":"x","data":{"response":{"results":[{"type":"RATE_LIMIT_FAILURE","retryAfterSeconds":-4}]}}}`, -5, transport.ClassRateLimit, 0, 0},
		{`{"code":-1,"message":"Group not found: x","data":null}`, -1, transport.ClassChat, 0, 0},
		{`{"code":-4,"message":"x","data":"surprise"}`, -4, transport.ClassIdentity, 0, 0},
		{`{"code":"x"}`, 0, transport.ClassUnknown, 0, 0},
		{`7`, 0, transport.ClassUnknown, 0, 0},
	} {
		e := signalrpc.ReadError([]byte(c.raw))
		if e.Code != c.code || e.Class != c.class || e.RetryAfter != c.retry || e.Reached != c.reached {
			t.Errorf("%s: %+v", c.raw, e)
		}
	}
}

func TestARefusedCallSaysWhy(t *testing.T) {
	client := piped(t, func(p *peer) {
		for {
			r, ok := p.next()
			if !ok {
				return
			}
			p.refuse(r, -1, "Group not found: x")
		}
	})
	_, err := client.Send(t.Context(), hello)
	for _, err := range []error{err, client.Typing(t.Context(), hello.Chat, true), client.React(t.Context(), transport.Reaction{Chat: hello.Chat})} {
		if e, ok := errors.AsType[*transport.Error](err); !ok || e.Class != transport.ClassChat || isUnknown(err) {
			t.Errorf("got %v", err)
		}
	}
}

// FuzzAnswerLine feeds the reader of calls whatever may come: the one call that
// waits gets one answer at most, and only from a line with its id.
func FuzzAnswerLine(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"7","result":` + success + `}`, `{"id":7,"error":{"code":-5,"message":"x"}}`, `{"id":"7"}`, `{"id":"7","method":"receive","params":{}}`,
		`{"id":"07","result":null}`, `{"id":"\u0037","result":1}`, `{"id":"8","result":1}`, `{"id":null,"error":{"code":-32700}}`, `[{"id":"7"}]`, unasked("a"), wrapped("a"), "garbage", "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		answers := signalrpc.Answered(7, line)
		l, err := transport.ParseLine(line)
		if answers > 1 || answers == 1 && (err != nil || l.Method != nil || !strings.Contains(string(l.ID), "7")) {
			t.Errorf("%s: %d answers", line, answers)
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(success))
	f.Add([]byte(`{"code":-5,"message":"x","data":{"response":{"results":[{"type":"RATE_LIMIT_FAILURE","retryAfterSeconds":1e300}]}}}`))
	f.Add([]byte(`{"timestamp":1,"results":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		receipt, err := signalrpc.ReadReceipt(raw)
		if (err == nil) != (receipt.Timestamp > 0) {
			t.Errorf("%+v, %v", receipt, err)
		}
		if e := signalrpc.ReadError(raw); !slices.Contains(transport.Classes(), e.Class) || e.RetryAfter < 0 || e.RetryAfter > 24*time.Hour {
			t.Errorf("%+v", e)
		}
	})
}
