package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"quartet/sim/internal/quirk"
)

func TestASearchLeadsToThePictureItTells(t *testing.T) {
	s := start(t)
	for range 5 {
		c := s.search("")[0]
		if !strings.HasPrefix(c.URL, s.url+"/images/") {
			t.Fatalf("the URL is %s", c.URL)
		}
		r := s.get(c.URL)
		picture, format, err := image.Decode(bytes.NewReader(r.body))
		if err != nil || "image/"+format != c.Type || r.header.Get("Content-Type") != c.Type || picture.Bounds().Dx() != c.Width || picture.Bounds().Dy() != c.Height {
			t.Errorf("%+v is %d %s of %v, %v", c, r.status, format, picture.Bounds(), err)
		}
		if len(r.body) < 20_000 || len(r.body) > 30_000 {
			t.Errorf("%d bytes", len(r.body))
		}
	}
}

func TestTheLimitDependsOnTheKey(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		query, key string
		want       int
	}{{"", "", 1}, {"?limit=0", "", 1}, {"?limit=x", "", 1}, {"?limit=3", "", 10}, {"?limit=3", "k", 3}, {"?limit=11", "k", 11}} {
		if got := s.search(c.query, "x-api-key", c.key); len(got) != c.want {
			t.Errorf("%s with key %q: %d pictures, want %d", c.query, c.key, len(got), c.want)
		}
	}
	if h := s.get(s.url + "/v1/images/search").header; h.Get("Pagination-Count") != "12" || h.Get("Pagination-Limit") != "1" || h.Get("Pagination-Page") != "0" {
		t.Errorf("header is %v", h)
	}
}

func TestOneSearchNamesNoPictureTwice(t *testing.T) {
	s := start(t)
	seen := map[string]bool{}
	for _, c := range s.search("?limit=10") {
		if seen[c.ID] {
			t.Errorf("%s came twice", c.ID)
		}
		seen[c.ID] = true
	}
}

func TestTypesCanBeChosen(t *testing.T) {
	s := start(t, "-pictures", "40")
	for query, want := range map[string]string{"?limit=10&mime_types=png": "image/png", "?limit=10&mime_types=jpg": "image/jpeg"} {
		list := s.search(query)
		if len(list) == 0 {
			t.Errorf("%s found nothing", query)
		}
		for _, c := range list {
			if c.Type != want {
				t.Errorf("%s found %+v", query, c)
			}
		}
	}
	if list := s.search("?mime_types=gif"); len(list) != 0 {
		t.Errorf("found %v", list)
	}
}

func TestAWrongKeyIsA401(t *testing.T) {
	s := start(t, "-api-key", "right")
	if r := s.get(s.url+"/v1/images/search", "x-api-key", "wrong"); r.status != 401 || !strings.Contains(string(r.body), `"message":"AUTHENTICATION_ERROR`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	s.search("", "x-api-key", "right")
	s.search("")
	s.put("/_sim/quirks", `{"need_key":true}`)
	if r := s.get(s.url + "/v1/images/search"); r.status != 401 {
		t.Errorf("without a key: %d", r.status)
	}
}

func TestSearchesFailAsTheQuirksSay(t *testing.T) {
	s := start(t, "-quirks", "retry_after=7s")
	for quirk, check := range map[string]func(reply) bool{
		"search_429":       func(r reply) bool { return r.status == 429 && r.header.Get("Retry-After") == "7" },
		"search_fail":      func(r reply) bool { return r.status == 500 },
		"search_malformed": func(r reply) bool { return r.status == 200 && !json.Valid(r.body) },
		"search_empty":     func(r reply) bool { return r.status == 200 && string(r.body) == "[]" },
		"search_private":   func(r reply) bool { return r.status == 200 && strings.Contains(string(r.body), "169.254.169.254") },
	} {
		s.put("/_sim/quirks", `{"`+quirk+`":1}`)
		if r := s.get(s.url + "/v1/images/search"); !check(r) {
			t.Errorf("%s: %d %v %s", quirk, r.status, r.header, r.body)
		}
		s.search("") // the next one is well again
	}
}

func TestPicturesFailAsTheQuirksSay(t *testing.T) {
	s := start(t)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := s.search("")[0]
	whole := s.get(c.URL).body
	for quirk, check := range map[string]func(reply) bool{
		"picture_429":  func(r reply) bool { return r.status == 429 && r.header.Get("Retry-After") != "" },
		"picture_fail": func(r reply) bool { return r.status == 503 },
		"redirect_private": func(r reply) bool {
			return r.status == 302 && strings.HasPrefix(r.header.Get("Location"), "http://169.254.169.254/")
		},
		"wrong_magic": func(r reply) bool {
			return r.header.Get("Content-Type") == c.Type && strings.Contains(string(r.body), "<title>")
		},
		"huge_body": func(r reply) bool {
			return len(r.body) >= 1<<20 && len(r.body) < 2<<20 && bytes.HasPrefix(r.body, whole)
		},
		"truncated_body": func(r reply) bool { return errors.Is(r.err, io.ErrUnexpectedEOF) && len(r.body) == len(whole)/2 },
		"huge_dimensions": func(r reply) bool {
			config, _, err := image.DecodeConfig(bytes.NewReader(r.body))
			return err == nil && config.Width == 60_000 && len(r.body) < 1000
		},
	} {
		s.put("/_sim/quirks", `{"`+quirk+`":1,"huge_bytes":1048576}`)
		if r := s.get(c.URL); !check(r) {
			t.Errorf("%s: %d %v, %d bytes, %v", quirk, r.status, r.header, len(r.body), r.err)
		}
		if r := s.get(c.URL); !bytes.Equal(r.body, whole) {
			t.Errorf("after %s the picture is still spoilt", quirk)
		}
	}
}

func TestARedirectCanLoopForEver(t *testing.T) {
	s := start(t, "-quirks", "redirect_loop=1")
	hops := 0
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error {
		if hops++; hops == 30 {
			return http.ErrUseLastResponse
		}
		return nil
	}
	if r := s.get(s.search("")[0].URL); r.status != 302 || hops != 30 {
		t.Errorf("%d after %d hops", r.status, hops)
	}
}

func TestABodyCanDrip(t *testing.T) {
	s := start(t, "-quirks", "slow_body=1,drip_interval=10ms")
	c := s.search("")[0]
	began := time.Now()
	r := s.get(c.URL)
	if took := time.Since(began); took < 150*time.Millisecond || r.err != nil {
		t.Errorf("took %v, %v", took, r.err)
	}
	if again := s.get(c.URL); !bytes.Equal(again.body, r.body) {
		t.Error("the dripped body differs")
	}
}

func TestRequestsCanHang(t *testing.T) {
	s := start(t)
	c := s.search("")[0]
	for quirk, url := range map[string]string{"search_hang": s.url + "/v1/images/search", "picture_hang": c.URL} {
		s.put("/_sim/quirks", `{"`+quirk+`":1}`)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.try(ctx, url)
			ended <- err
		}()
		// The quirk is used up: the request is being handled.
		for quirks := ""; !strings.Contains(quirks, `"`+quirk+`":0`); {
			quirks = string(s.get(s.url + "/_sim/quirks").body)
		}
		select {
		case err := <-ended:
			t.Errorf("%s: the request ended with %v", quirk, err)
		case <-time.After(50 * time.Millisecond):
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", quirk, err)
			}
		}
		cancel()
		if r := s.get(url); r.status != 200 {
			t.Errorf("%s: the next request is answered %d", quirk, r.status)
		}
	}
}

func TestAnIdleConnectionIsClosedAtOnce(t *testing.T) {
	s := start(t, "-quirks", "close_idle")
	for range 3 {
		s.search("")
	}
	var stats struct {
		Opened int `json:"connections_opened"`
		Closed int `json:"connections_closed_idle"`
	}
	if err := json.Unmarshal(s.get(s.url+"/_sim/stats").body, &stats); err != nil || stats.Opened < 3 || stats.Closed < 3 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestConnectionsAreReusedOtherwise(t *testing.T) {
	s := start(t)
	for range 5 {
		s.search("")
	}
	if body := s.get(s.url + "/_sim/stats").body; !strings.Contains(string(body), `"connections_opened":1,`) || !strings.Contains(string(body), `"searches":5`) {
		t.Errorf("%s", body)
	}
}

func TestLatenciesAreTaken(t *testing.T) {
	s := start(t, "-latency", "search=80ms,picture=120ms")
	began := time.Now()
	c := s.search("")[0]
	found := time.Now()
	s.get(c.URL)
	if a, b := found.Sub(began), time.Since(found); a < 80*time.Millisecond || b < 120*time.Millisecond {
		t.Errorf("search took %v, picture %v", a, b)
	}
}

func TestTheSeedLatenciesAreSet(t *testing.T) {
	s := start(t, "-seed-latencies")
	if body := string(s.get(s.url + "/_sim/latency").body); !strings.Contains(body, `"search":{"p50":"386ms"`) || !strings.Contains(body, `"picture":{"p50":"684ms"`) || !strings.Contains(body, `"commons":{"p50":"386ms"`) {
		t.Errorf("%s", body)
	}
}

func TestResetGoesBackToTheCommandLine(t *testing.T) {
	s := start(t, "-quirks", "search_fail=1")
	s.put("/_sim/quirks", `{"search_fail":0,"need_key":true}`)
	res, err := s.client.Post(s.url+"/_sim/reset", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if r := s.get(s.url + "/v1/images/search"); res.StatusCode != 204 || r.status != 500 {
		t.Errorf("reset %d, then %d", res.StatusCode, r.status)
	}
}

func TestEveryQuirkIsExplained(t *testing.T) {
	s := start(t)
	var list []quirk.Description
	if err := json.Unmarshal(s.get(s.url+"/_sim/quirks?describe=1").body, &list); err != nil || len(list) < 20 {
		t.Fatalf("%d, %v", len(list), err)
	}
	for _, d := range list {
		if len(d.Doc) < 20 {
			t.Errorf("%s is explained by %q", d.Name, d.Doc)
		}
	}
}

func TestUnknownPicturesAreNotFound(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/images/kot1.gif", "/images/../kot1.jpg", "/images/%2e%2e.jpg", "/images/"} {
		if r := s.get(s.url + path); r.status != 404 {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}

func TestBadFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-quirks", "nope"}, {"-latency", "nope=1s"}, {"-pictures", "0"}, {"-width-min", "9"}, {"-bytes-max", "1"}, {"-listen", "0.0.0.0:0"}, {"-listen", "127.0.0.1:0", "-upload-listen", "0.0.0.0:0"}, {"stray"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	var help strings.Builder
	if err := run(t.Context(), []string{"--help"}, io.Discard, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-seed-latencies") {
		t.Errorf("%v, %s", err, help.String())
	}
}
