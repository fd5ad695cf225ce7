package upstream_test

import (
	"net/url"
	"strings"
	"testing"

	"quartet/services/botd/internal/upstream"
)

func TestHostsAreThoseOfTheList(t *testing.T) {
	h := hosts(t, "api.example.org", "*.Media.example.org", "127.0.0.1:8081", "[::1]:8081", "*.example.net:444")
	for address, want := range map[string]bool{
		"https://api.example.org/x":        true,
		"http://api.example.org/x":         true,
		"https://API.example.org./x":       true,
		"https://api.example.org:443/":     true,
		"http://api.example.org:80/":       true,
		"https://api.example.org:80/":      false,
		"https://api.example.org:8443/":    false,
		"https://example.org/":             false,
		"https://b.api.example.org/":       false,
		"https://notapi.example.org/":      false,
		"https://1.media.example.org/":     true,
		"https://a.b.media.example.org/":   true,
		"https://media.example.org/":       false,
		"https://evilmedia.example.org/":   false,
		"https://media.example.org.evil/":  false,
		"https://1.media.example.org:444/": false,
		"http://127.0.0.1:8081/":           true,
		"https://127.0.0.1:8081/":          true,
		"http://127.0.0.1/":                false,
		"http://[::1]:8081/":               true,
		"http://[::1]:8082/":               false,
		"https://a.example.net:444/":       true,
		"https://a.example.net/":           false,
		"https://api.example.org@evil/":    false,
		"https:///x":                       false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Allow(u); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
	if u, _ := url.Parse("https://api.example.org/"); (upstream.Hosts{}).Allow(u) {
		t.Error("no hosts allow one")
	}
}

func TestPicturesOfTheAPIsAreAllowed(t *testing.T) {
	h := hosts(t, upstream.PictureHosts...)
	for _, address := range []string{
		"https://cdn2.thecatapi.com/images/ebv.jpg", "https://s3.us-west-2.amazonaws.com/cdn2.thecatapi.com/images/MjA2MDgxMA.jpg",
		"https://24.media.tumblr.com/tumblr_m0h_500.jpg", "https://upload.wikimedia.org/wikipedia/commons/thumb/a/a0/A.jpg/960px-A.jpg",
	} {
		if u, err := url.Parse(address); err != nil || !h.Allow(u) {
			t.Errorf("%s is not", address)
		}
	}
}

func TestHostsAreRefusedAllAtOnce(t *testing.T) {
	bad := []string{"", "*", "*.org", "*example.org", "a.*.example.org", "https://example.org", "example.org/x", "a@example.org", "example.org:", "example.org:x", "ex ample", "*.*.example.org", ":80"}
	_, err := upstream.ParseHosts(append(bad, "good.example.org"))
	if err == nil {
		t.Fatal("all were taken")
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != len(bad) {
		t.Errorf("%d faults of %d:\n%v", got, len(bad), err)
	}
	if strings.Contains(err.Error(), "good") || !strings.Contains(err.Error(), "write *.example.org") {
		t.Errorf("error %v", err)
	}
}

func FuzzHosts(f *testing.F) {
	for _, seed := range []string{"example.org", "*.example.org:81", "[::1]:8081", "*.", "*..", "%41.example.org", "EXAMPLE.org."} {
		f.Add(seed, "https://"+strings.TrimPrefix(seed, "*.")+"/x")
	}
	f.Fuzz(func(t *testing.T, pattern, address string) {
		h, err := upstream.ParseHosts([]string{pattern})
		u, notURL := url.Parse(address)
		if notURL != nil || !h.Allow(u) {
			return
		}
		if err != nil {
			t.Errorf("%q, which is refused, allows %q", pattern, address)
		}
		name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		if p, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(pattern), "*"), ":"); !strings.HasPrefix(pattern, "[") && !strings.Contains(pattern, "%") && !strings.HasSuffix(name, strings.TrimSuffix(p, ".")) {
			t.Errorf("%q allows %q", pattern, address)
		}
	})
}
