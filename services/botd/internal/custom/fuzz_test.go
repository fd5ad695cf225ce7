package custom_test

import (
	"strings"
	"testing"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/custom"
)

// Whatever people write: it stays one part of the path and one value of the
// query, of the host that the operator chose.
func FuzzAddress(f *testing.F) {
	for _, words := range []string{"", "raz dwa", "../..", "..\\..", "%2e%2e", "?a=b&c#d", "@evil.example", "\x00\xff", "http://10.0.0.1/", "a\r\nHost: b"} {
		f.Add(words, words)
	}
	tpl, err := commandfile.ParseTemplate("https://api.example.org/a/{words}/b/{word1}?q={words}&n={sender_name}&end=1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		u, err := custom.Address(tpl, nil, command.Request{Text: text, Name: name})
		if err != nil {
			return
		}
		path := u.EscapedPath()
		if u.Scheme != "https" || u.Host != "api.example.org" || u.User != nil || u.Fragment != "" ||
			strings.Count(path, "/") != 4 || !strings.HasPrefix(path, "/a/") || strings.Contains(path+"/", "/../") || strings.ContainsAny(u.String(), "\r\n\x00 ") {
			t.Errorf("%q gives %s", text, u)
		}
		if q := u.Query(); len(q) != 3 || q.Get("q") != strings.TrimSpace(text) || q.Get("n") != name || q.Get("end") != "1" {
			t.Errorf("%q gives the query %q", text, q)
		}
	})
}

// No word of what people wrote is in what is told of a complaint.
func FuzzWithoutWords(f *testing.F) {
	f.Add("error: no such city: Nowy SĄCZ!", "nowy sącz")
	f.Add("a", "a a a")
	f.Add("Straße ﬁ", "straße FI")
	f.Fuzz(func(t *testing.T, complaint, text string) {
		words := func(s string) map[string]bool {
			all := make(map[string]bool)
			for _, w := range strings.FieldsFunc(s, custom.Parts) {
				all[asked.Fold(w)] = true
			}
			return all
		}
		hidden := words(text)
		for word := range words(custom.WithoutWords(complaint, []string{text})) {
			if hidden[word] {
				t.Errorf("%q of %q is told of %q", word, text, complaint)
			}
		}
	})
}
