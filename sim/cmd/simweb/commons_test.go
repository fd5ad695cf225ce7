package main

import (
	"bytes"
	"encoding/json"
	"image"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	agent        = "botd-test (mail)"
	commonsQuery = "/w/api.php?action=query&format=json&formatversion=2&generator=search&gsrsearch=kot+filetype%3Abitmap&gsrnamespace=6&gsrsort=random&gsrlimit=10&prop=imageinfo&iiprop=url%7Cextmetadata&iiurlwidth=960&maxlag=5"
)

type wikiPage struct {
	PageID    int
	Title     string
	Index     int
	ImageInfo []struct {
		ThumbURL, DescriptionURL string
		ThumbWidth, ThumbHeight  int
		ExtMetadata              json.RawMessage
	}
}

// commons searches Commons and returns the pages.
func (s *web) commons() []wikiPage {
	s.t.Helper()
	r := s.get(s.url+commonsQuery, "User-Agent", agent)
	var answer struct{ Query struct{ Pages []wikiPage } }
	if err := json.Unmarshal(r.body, &answer); err != nil || r.status != 200 || len(answer.Query.Pages) != 10 {
		s.t.Fatalf("%d %s, %v", r.status, r.body, err)
	}
	return answer.Query.Pages
}

func TestCommonsLeadsToThumbnailsOnAHostOfTheirOwn(t *testing.T) {
	s := start(t, "-upload-listen", "127.0.0.1:0")
	bare, anonymous := 0, 0
	for range 4 {
		for _, p := range s.commons() {
			if len(p.ImageInfo) == 0 {
				bare++
				continue
			}
			info := p.ImageInfo[0]
			if string(info.ExtMetadata) == "[]" {
				anonymous++
			}
			if !strings.HasPrefix(info.ThumbURL, s.upload+"/wikipedia/commons/thumb/") || s.upload == s.url || !strings.HasPrefix(info.DescriptionURL, s.url+"/wiki/File:Drawing_") {
				t.Fatalf("page %+v", p)
			}
			picture, _, err := image.Decode(bytes.NewReader(s.get(info.ThumbURL, "User-Agent", agent).body))
			if err != nil || picture.Bounds().Dx() != info.ThumbWidth || picture.Bounds().Dy() != info.ThumbHeight {
				t.Errorf("%s: %v", info.ThumbURL, err)
			}
		}
	}
	if bare == 0 || bare > 20 || anonymous == 0 {
		t.Errorf("of 40 pages %d have no imageinfo, %d no metadata", bare, anonymous)
	}
}

func TestCommonsIsOnOneHostUnlessTold(t *testing.T) {
	s := start(t)
	for _, p := range s.commons() {
		if len(p.ImageInfo) > 0 && !strings.HasPrefix(p.ImageInfo[0].ThumbURL, s.url+"/wikipedia/") {
			t.Errorf("page %+v", p)
		}
	}
	s = start(t, "-public-url", "https://web.example/", "-upload-url", "https://upload.example/")
	for _, p := range s.commons() {
		if len(p.ImageInfo) > 0 && (!strings.HasPrefix(p.ImageInfo[0].ThumbURL, "https://upload.example/wikipedia/") || !strings.HasPrefix(p.ImageInfo[0].DescriptionURL, "https://web.example/wiki/")) {
			t.Errorf("page %+v", p)
		}
	}
}

func TestCommonsFailsAsTheQuirksSay(t *testing.T) {
	s := start(t, "-quirks", "retry_after=7s")
	has := func(parts ...string) func(reply) bool {
		return func(r reply) bool {
			for _, p := range parts {
				if !strings.Contains(string(r.body), p) {
					return false
				}
			}
			return r.status == 200
		}
	}
	for quirk, check := range map[string]func(reply) bool{
		"commons_429":  func(r reply) bool { return r.status == 429 && r.header.Get("Retry-After") == "7" },
		"commons_fail": func(r reply) bool { return r.status == 503 && r.header.Get("Retry-After") == "" },
		"commons_maxlag": func(r reply) bool {
			return has(`"error":{"code":"maxlag"`)(r) && r.header.Get("Retry-After") == "7"
		},
		"commons_error":      has(`"error":{"code":"internal_api_error_DBQueryError"`),
		"commons_malformed":  func(r reply) bool { return r.status == 200 && !json.Valid(r.body) },
		"commons_empty":      func(r reply) bool { return string(r.body) == `{"batchcomplete":true}` },
		"commons_private":    has("169.254.169.254"),
		"commons_hostile":    has("script"),
		"commons_incomplete": func(r reply) bool { return r.status == 200 && strings.Count(string(r.body), "imageinfo") < 10 },
	} {
		n := "1"
		if quirk == "commons_private" || quirk == "commons_hostile" || quirk == "commons_incomplete" {
			n = "10" // some of the pages have no imageinfo anyway
		}
		s.put("/_sim/quirks", `{"`+quirk+`":`+n+`}`)
		if r := s.get(s.url+commonsQuery, "User-Agent", agent); !check(r) {
			t.Errorf("%s: %d %v %s", quirk, r.status, r.header, r.body)
		}
		s.put("/_sim/quirks", `{"`+quirk+`":0}`)
		s.commons() // the next one is well again
	}
}

func TestCommonsLagsForWhoWantsToKnowOnly(t *testing.T) {
	s := start(t, "-quirks", "commons_maxlag")
	if r := s.get(s.url+strings.Replace(commonsQuery, "&maxlag=5", "", 1), "User-Agent", agent); !strings.Contains(string(r.body), `"pages"`) {
		t.Errorf("%s", r.body)
	}
}

func TestCommonsRefusesWhatItDoesNotKnow(t *testing.T) {
	s := start(t)
	for old, change := range map[string]string{
		"formatversion=2": "formatversion=1", "action=query": "action=parse", "generator=search": "generator=random",
		"gsrnamespace=6": "gsrnamespace=0", "gsrsearch=kot": "gsrsearch=" + strings.Repeat("x", 400), "gsrsearch=kot+filetype%3Abitmap": "gsrsearch=",
	} {
		if r := s.get(s.url+strings.Replace(commonsQuery, old, change, 1), "User-Agent", agent); r.status != 200 || !strings.Contains(string(r.body), `"error":{"code"`) {
			t.Errorf("%.40s: %d %s", change, r.status, r.body)
		}
	}
}

func TestCommonsRefusesWhoDoesNotSayWhoTheyAre(t *testing.T) {
	s := start(t)
	thumb := ""
	for _, p := range s.commons() {
		if len(p.ImageInfo) > 0 {
			thumb = p.ImageInfo[0].ThumbURL
		}
	}
	for _, url := range []string{s.url + commonsQuery, thumb} {
		if r := s.get(url); r.status != http.StatusForbidden {
			t.Errorf("%s: %d", url, r.status)
		}
	}
	if body := s.get(s.url + "/_sim/stats").body; !strings.Contains(string(body), `"commons_unnamed":2`) || !strings.Contains(string(body), `"commons_searches":1`) {
		t.Errorf("%s", body)
	}
}

func TestThumbnailsHaveTheQuirksOfPictures(t *testing.T) {
	s := start(t)
	for _, p := range s.commons() {
		if len(p.ImageInfo) == 0 {
			continue
		}
		s.put("/_sim/quirks", `{"picture_429":1}`)
		if r := s.get(p.ImageInfo[0].ThumbURL, "User-Agent", agent); r.status != 429 {
			t.Errorf("%d", r.status)
		}
		for _, wrong := range []string{strings.Replace(p.ImageInfo[0].ThumbURL, "960px", "961px", 1), p.ImageInfo[0].ThumbURL + ".gif"} {
			if r := s.get(wrong, "User-Agent", agent); r.status != 404 {
				t.Errorf("%s: %d", wrong, r.status)
			}
		}
		return
	}
}

func TestCommonsCountsHowManyAskAtATime(t *testing.T) {
	s := start(t, "-latency", "commons=100ms")
	began := time.Now()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { s.commons() })
	}
	wg.Wait()
	if time.Since(began) < 100*time.Millisecond {
		t.Error("the latency was not taken")
	}
	if body := s.get(s.url + "/_sim/stats").body; strings.Contains(string(body), `"commons_at_once":0`) || strings.Contains(string(body), `"commons_at_once":1`) {
		t.Errorf("%s", body)
	}
}
