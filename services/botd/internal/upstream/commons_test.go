package upstream_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quartet/kit/pool"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/upstream"
)

// found is an answer in the shape of the real one.
const found = `{"batchcomplete":true,"continue":{"gsroffset":10,"continue":"gsroffset||"},"query":{"pages":[
{"pageid":1,"ns":6,"title":"File:No information.jpg","index":2},
{"pageid":2,"ns":6,"title":"File:Empty.jpg","index":3,"imagerepository":"local","imageinfo":[]},
{"pageid":3,"ns":6,"title":"File:Felis catus v2.0.jpg","index":1,"imagerepository":"local","imageinfo":[{
"thumburl":"%s/thumb/960px-Felis.jpg","thumbwidth":960,"thumbheight":640,"responsiveUrls":{"1.5":"https://x.example/1"},
"url":"https://upload.wikimedia.org/wikipedia/commons/a/a0/Felis.jpg","descriptionurl":"https://commons.wikimedia.org/wiki/File:Felis_catus_v2.0.jpg",
"descriptionshorturl":"https://commons.wikimedia.org/w/index.php?curid=3","extmetadata":{
"LicenseShortName":{"value":"CC BY-SA 4.0","source":"commons-desc-page","hidden":""},
"Artist":{"value":"<a href=\"//commons.wikimedia.org/wiki/User:Ala\" title=\"User:Ala\">Ala &amp; Ola</a>","source":"commons-desc-page"}}}]}]}}`

// with is an answer of one page with the given metadata.
func with(meta string) string {
	return `{"query":{"pages":[{"title":"File:A.png","imageinfo":[{"thumburl":"https://u.example/t","descriptionurl":"https://c.example/A","extmetadata":` + meta + `}]}]}}`
}

func TestAnswersOfCommonsAreRead(t *testing.T) {
	credited := said.Credit{Title: "A", Source: "https://c.example/A"}
	by := func(author, licence string) said.Credit {
		c := credited
		c.Author, c.Licence = author, licence
		return c
	}
	for name, tt := range map[string]struct {
		body   string
		credit said.Credit
	}{
		"the real shape": {found, said.Credit{
			Title: "Felis catus v2.0", Author: "Ala & Ola", Licence: "CC BY-SA 4.0", Source: "https://commons.wikimedia.org/wiki/File:Felis_catus_v2.0.jpg",
		}},
		"no metadata, which PHP writes so": {with(`[]`), credited},
		"metadata that is null":            {with(`null`), credited},
		"a value that is a number":         {with(`{"Artist":{"value":7},"LicenseShortName":{"value":"CC0"}}`), by("", "CC0")},
		"an attribution in its place":      {with(`{"Attribution":{"value":"<b>Ola</b>"}}`), by("Ola", "")},
		"a hostile author": {
			with(`{"Artist":{"value":"<script>alert(1)</script><img src=x onerror=\"a>b\">Ela<style>*{}</style>\u202e\u0000"},"LicenseShortName":{"value":"<b>CC</b>\nBY"}}`), by("Ela\u202e", "CC BY"), // package said takes the mark out
		},
	} {
		t.Run(name, func(t *testing.T) {
			address, credit, err := upstream.ReadSearch([]byte(tt.body))
			if err != nil || address == "" || credit != tt.credit {
				t.Errorf("%q, %+v, %v; want %+v", address, credit, err, tt.credit)
			}
			if got := said.English.Caption(credit); strings.Contains(got, "\u202e") {
				t.Errorf("caption %q", got)
			}
		})
	}
}

func TestTheFirstThatWasFoundIsTaken(t *testing.T) {
	body := `{"query":{"pages":[{"index":3,"imageinfo":[{"thumburl":"c"}]},{"index":1,"imageinfo":[]},{"index":2,"imageinfo":[{"thumburl":"b"}]},{"index":4,"imageinfo":[{"thumburl":"d"}]}]}}`
	if address, _, err := upstream.ReadSearch([]byte(body)); address != "b" || err != nil {
		t.Errorf("%q, %v", address, err)
	}
}

func TestAnswersWithoutAPictureAreTold(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		is   error
		says string
	}{
		"nothing found":           {body: `{"batchcomplete":true}`, is: upstream.ErrNoPicture},
		"no pages":                {body: `{"query":{"pages":[]}}`, is: upstream.ErrNoPicture},
		"only pages without info": {body: `{"query":{"pages":[{"title":"File:A.jpg"}]}}`, is: upstream.ErrNoPicture},
		"only failed thumbnails":  {body: `{"query":{"pages":[{"title":"File:A.jpg","imageinfo":[{"thumberror":"x"}]}]}}`, is: upstream.ErrNoPicture},
		"an error":                {body: `{"error":{"code":"badvalue","info":"Unrecognized value"},"docref":"x"}`, says: `refused: "badvalue"`},
		"its own error":           {body: `{"error":{"code":"internal_api_error_DBQueryError","info":"x"}}`, says: "its own error"},
		"lag":                     {body: `{"error":{"code":"maxlag","info":"Waiting for db1: 6.2 seconds lagged","lag":6.2}}`, says: "maxlag, to be asked again in 5s"},
		"no JSON":                 {body: `<html>`, says: "read the answer"},
		"cut short":               {body: found[:len(found)/2], says: "read the answer"},
		"nothing":                 {says: "read the answer"},
		"the older format":        {body: `{"query":{"pages":{"3":{"title":"File:A.jpg"}}}}`, says: "read the answer"},
		"nested without end":      {body: `{"query":` + strings.Repeat("[", 100_000), says: "read the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := upstream.ReadSearch([]byte(tt.body))
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %v, %q", err, tt.is, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "Unrecognized") {
				t.Errorf("error %v repeats what may be typed by people", err)
			}
		})
	}
}

func TestOnlyWordsAreSearchedFor(t *testing.T) {
	for words, want := range map[string]string{
		"Czarny KOT":                           "czarny kot",
		" zażółć\n gęślą ":                     "zażółć gęślą",
		"kot -filetype:bitmap OR insource:/x/": "kot filetype bitmap or insource x",
		`"a|b" ~c* <d>`:                        "a b c d",
		"🐈":                                    "🐈",
		"!?":                                   "",
		"\xff":                                 "",
	} {
		if got := upstream.Searchable(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
	if got := upstream.Searchable(strings.Repeat("ż", 300)); len(got) > upstream.MaxWords || !utf8.ValidString(got) || got == "" {
		t.Errorf("%d bytes", len(got))
	}
}

// wiki is a Commons whose answer a test sets; %s in it is the server's address.
func wiki(t *testing.T, handle http.HandlerFunc) *upstream.Commons {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	g := upstream.NewGuard([]string{s.Listener.Addr().String()}, net.Dialer{Timeout: 2 * time.Second})
	client := pool.New("commons", pool.Options{Dial: g.Dial})
	t.Cleanup(client.CloseIdle)
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return upstream.NewCommons(base, "botd-test (mail)", client, upstream.NewPictures("botd-test (mail)", client, hosts(t, s.Listener.Addr().String(), "127.0.0.1:1")))
}

func TestFindReturnsThePictureAndItsCredit(t *testing.T) {
	var asked url.Values
	commons := wiki(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("User-Agent") != "botd-test (mail)" {
			t.Errorf("%s asked by %q", r.URL, r.Header.Get("User-Agent"))
		}
		if r.URL.Path == "/w/api.php" {
			asked = r.URL.Query()
			fmt.Fprint(w, strings.ReplaceAll(found, "%s", "http://"+r.Host))
			return
		}
		fmt.Fprint(w, png)
	})
	p, credit, err := commons.Find(t.Context(), "Koty!")
	if err != nil || p.ContentType != "image/png" || credit.Licence != "CC BY-SA 4.0" {
		t.Errorf("%s, %+v, %v", p.ContentType, credit, err)
	}
	for name, want := range map[string]string{
		"action": "query", "format": "json", "formatversion": "2", "generator": "search", "gsrsearch": "koty filetype:bitmap",
		"gsrnamespace": "6", "gsrsort": "random", "prop": "imageinfo", "iiurlwidth": "960", "maxlag": "5",
	} {
		if got := asked.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestFindFailsClearly(t *testing.T) {
	for name, tt := range map[string]struct {
		words string
		api   string
		is    error
		says  string
	}{
		"nothing to search for": {words: "?!", is: upstream.ErrNoPicture},
		"nothing found":         {words: "x", api: `{"batchcomplete":true}`, is: upstream.ErrNoPicture},
		"a private address":     {words: "x", api: strings.ReplaceAll(found, "%s", "http://127.0.0.1:1"), is: upstream.ErrPrivateAddress},
		"an address of a file":  {words: "x", api: strings.ReplaceAll(found, "%s", "file:///etc"), says: "no web address"},
		"a page, not a picture": {words: "x", api: found, is: upstream.ErrNotAPicture},
		"an endless answer":     {words: "x", api: `{"a":"` + strings.Repeat("x", upstream.AnswerLimit) + `"}`, says: "an answer of more than"},
	} {
		t.Run(name, func(t *testing.T) {
			commons := wiki(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/w/api.php" {
					_, _ = io.WriteString(w, strings.ReplaceAll(tt.api, "%s", "http://"+r.Host))
					return
				}
				fmt.Fprint(w, "<html>")
			})
			_, _, err := commons.Find(t.Context(), tt.words)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %v, %q", err, tt.is, tt.says)
			}
		})
	}
}

func FuzzAnswersOfCommons(f *testing.F) {
	for _, seed := range []string{found, with(`[]`), with(`{"Artist":{"value":"<a>x"}}`), `{"error":{"code":"maxlag"}}`, `{}`, `[`, ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		address, credit, err := upstream.ReadSearch(body)
		if (err == nil) != (address != "") {
			t.Errorf("address %q with error %v", address, err)
		}
		if err != nil && credit != (said.Credit{}) {
			t.Errorf("credit %+v with error %v", credit, err)
		}
		if len(credit.Author) > upstream.MaxPlain || len(credit.Licence) > upstream.MaxPlain {
			t.Errorf("%+v is not bounded", credit)
		}
	})
}
