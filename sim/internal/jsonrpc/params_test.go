package jsonrpc

import (
	"slices"
	"testing"
)

func TestParametersAreFoundUnderEverySpelling(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{`{"groupId":"a"}`, []string{"a"}},
		{`{"group-id":"a"}`, []string{"a"}},
		{`{"groupId":["a","b"]}`, []string{"a", "b"}},
		{`{"groupIds":["a","b"]}`, []string{"a", "b"}},
		{`{"group-ids":["a"],"groupId":"b"}`, []string{"b", "a"}},
		{`{"groupId":7}`, nil},
		{`{}`, nil},
		{`null`, nil},
		{``, nil},
	} {
		p, err := parseParams([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		if got := p.list("groupId"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.text, got, c.want)
		}
	}
}

func TestIntegersAreFoundUnderEverySpelling(t *testing.T) {
	for text, want := range map[string][]int64{
		`{"targetTimestamp":5}`:                        {5},
		`{"target-timestamp":"5"}`:                     {5},
		`{"targetTimestamp":[5,6]}`:                    {5, 6},
		`{"targetTimestamps":[6],"targetTimestamp":5}`: {5, 6},
		`{"targetTimestamps":[6,"x"]}`:                 nil,
		`{"targetTimestamp":5.5}`:                      nil,
		`{"targetTimestamp":null}`:                     nil,
		`{}`:                                           nil,
	} {
		p, err := parseParams([]byte(text))
		if got := p.numbers("targetTimestamp"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v, %v", text, got, want, err)
		}
	}
}

func FuzzParams(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"a-b":1}`, `{"--":"x"}`, `{"-":[""]}`, `[1]`, `{"groupIds":[1]}`} {
		f.Add([]byte(seed), "group-id")
	}
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		p, err := parseParams(text)
		if err != nil {
			return
		}
		p.list(name)
		p.text(name)
		p.number(name)
		p.numbers(name)
		p.flag(name, true)
		if twice := camel(camel(name)); twice != camel(name) {
			t.Errorf("%q becomes %q, then %q", name, camel(name), twice)
		}
	})
}
