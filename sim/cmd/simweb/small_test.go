package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"net/http"
	"strings"
	"testing"
)

func TestTheWeatherOfAPlaceIsAlwaysTheSame(t *testing.T) {
	s := start(t)
	first, second, other := s.get(s.url+"/json/weather?q=%C5%81%C3%B3d%C5%BA"), s.get(s.url+"/json/weather?q=%C5%81%C3%B3d%C5%BA"), s.get(s.url+"/json/weather?q=Gdynia")
	var w struct {
		Location struct{ Name string }
		Current  struct {
			Temp      *float64 `json:"temp_c"`
			Condition struct{ Text string }
		}
		Forecast []struct{ Day string }
	}
	if err := json.Unmarshal(first.body, &w); err != nil || w.Location.Name != "Łódź" || w.Current.Temp == nil || w.Current.Condition.Text == "" || len(w.Forecast) != 3 {
		t.Errorf("%s, %v", first.body, err)
	}
	if !bytes.Equal(first.body, second.body) || bytes.Equal(first.body, other.body) {
		t.Errorf("%s, %s, %s", first.body, second.body, other.body)
	}
	if r := s.get(s.url + "/json/weather"); r.status != 400 || !strings.Contains(string(r.body), `"code":1003`) {
		t.Errorf("without a place: %d %s", r.status, r.body)
	}
	if r := s.get(s.url + "/json/nothing"); r.status != 404 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestTheSmallServicesMisbehaveOnDemand(t *testing.T) {
	s := start(t)
	for quirk, want := range map[string]func(reply) bool{
		"json_429":       func(r reply) bool { return r.status == 429 && r.header.Get("Retry-After") == "2" },
		"json_fail":      func(r reply) bool { return r.status == 500 },
		"json_malformed": func(r reply) bool { return r.status == 200 && !json.Valid(r.body) },
		"json_huge":      func(r reply) bool { return len(r.body) > 200_000 && json.Valid(r.body) },
	} {
		s.put("/_sim/quirks", `{"`+quirk+`":1,"huge_bytes":200000}`)
		if r := s.get(s.url + "/json/weather?q=x"); !want(r) {
			t.Errorf("%s: %d, %d bytes", quirk, r.status, len(r.body))
		}
		if r := s.get(s.url + "/json/weather?q=x"); r.status != 200 || !json.Valid(r.body) {
			t.Errorf("after %s: %d", quirk, r.status)
		}
	}
}

func TestTheHookTellsWhatItWasSent(t *testing.T) {
	s := start(t)
	for i, body := range []string{`{"text":"!hook","args":["a"]}`, "no JSON"} {
		res, err := s.client.Post(s.url+"/hook?a=b", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var told struct {
			Method, Path string
			Query        map[string][]string
			Headers      map[string]string
			Body         any
		}
		err = errors.Join(json.NewDecoder(res.Body).Decode(&told), res.Body.Close())
		if err != nil || told.Method != "POST" || told.Path != "/hook" || told.Query["a"][0] != "b" || told.Headers["Content-Type"] != "application/json" {
			t.Errorf("%+v, %v", told, err)
		}
		if _, object := told.Body.(map[string]any); object != (i == 0) {
			t.Errorf("the body is told as %v", told.Body)
		}
	}
	s.put("/_sim/quirks", `{"hook_fail":1}`)
	if r := s.get(s.url + "/hook"); r.status != 500 {
		t.Errorf("%d %s", r.status, r.body)
	}
	var page struct {
		Hooks []struct {
			Seq    uint64
			Method string
			Body   any
		}
		Next uint64
	}
	if err := json.Unmarshal(s.get(s.url+"/_sim/hooks?after=1&wait=10s").body, &page); err != nil || len(page.Hooks) != 2 || page.Next != 3 || page.Hooks[0].Body != "no JSON" || page.Hooks[1].Method != "GET" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestRedirectsLeadWhereTheyAreTold(t *testing.T) {
	s := start(t)
	s.put("/_sim/quirks", `{"private_address":"http://10.0.0.1/x"}`)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, want := range map[string]string{
		"/redirect/within?to=/json/weather%3Fq=x":       "/json/weather?q=x",
		"/redirect/within?to=//other.example/":          "/json/echo",
		"/redirect/away?to=http://other.example/":       "http://other.example/",
		"/redirect/away":                                "http://10.0.0.1/x",
		"/redirect/loop":                                "/redirect/loop",
		"/redirect/chain/2?to=/json/echo":               "/redirect/chain/1?to=%2Fjson%2Fecho",
		"/redirect/chain/1?to=/json/weather%3Fq=Gdynia": "/json/weather?q=Gdynia",
	} {
		if r := s.get(s.url + path); r.status != 302 || r.header.Get("Location") != want {
			t.Errorf("%s: %d to %s, want %s", path, r.status, r.header.Get("Location"), want)
		}
	}
	s.client.CheckRedirect = nil
	if r := s.get(s.url + "/redirect/chain/5?to=/json/weather%3Fq=Gdynia"); r.status != 200 || !strings.Contains(string(r.body), "Gdynia") {
		t.Errorf("the end of the chain: %d %s", r.status, r.body)
	}
}

func TestAPictureHasTheSizeThatIsAskedFor(t *testing.T) {
	s := start(t)
	r := s.get(s.url + "/picture/307200.jpg")
	if _, kind, err := image.Decode(bytes.NewReader(r.body)); r.status != 200 || len(r.body) != 307_200 || kind != "jpeg" || err != nil {
		t.Errorf("%d, %d bytes, %s, %v", r.status, len(r.body), kind, err)
	}
	for _, path := range []string{"/picture/100.jpg", "/picture/99999999.jpg", "/picture/x.jpg", "/picture/30000.png"} {
		if r := s.get(s.url + path); r.status != 404 {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}

func TestAllPicturesOfASearchMayHaveOneSize(t *testing.T) {
	s := start(t, "-jpeg-only", "-bytes-min", "307200", "-bytes-max", "307200")
	list := s.search("?limit=10")
	if len(list) != 10 {
		t.Fatalf("%d were found", len(list))
	}
	for _, c := range list {
		if r := s.get(c.URL); c.Type != "image/jpeg" || len(r.body) != 307_200 {
			t.Errorf("%+v has %d bytes", c, len(r.body))
		}
	}
}
