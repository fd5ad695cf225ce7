package asked_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"quartet/services/botd/internal/asked"
)

var (
	command  = asked.Param{Name: "command", Kind: asked.Word}
	seconds  = asked.Param{Name: "seconds", Kind: asked.Number, Min: 0, Max: 3600}
	maybe    = asked.Param{Name: "maybe", Kind: asked.Number, Optional: true}
	words    = asked.Param{Name: "words", Kind: asked.Rest}
	anything = asked.Param{Name: "anything", Kind: asked.Rest, Optional: true}
	person   = asked.Param{Name: "person", Kind: asked.Person}
	another  = asked.Param{Name: "another", Kind: asked.Person, Optional: true}
)

func TestArgumentsFitTheirParameters(t *testing.T) {
	a, o := at(0, ala), at(0, ola)
	word := func(s string) asked.Value { return asked.Value{Given: true, Text: s} }
	number := func(s string, n int64) asked.Value { return asked.Value{Given: true, Text: s, Number: n} }
	tests := []struct {
		name   string
		text   string
		people []asked.Mention
		params []asked.Param
		want   asked.Args
		misfit asked.Misfit
	}{
		{name: "no parameters take anything", text: "proszę, 1 raz", people: []asked.Mention{a}},
		{name: "a word", text: "Kot", params: []asked.Param{command}, want: asked.Args{"command": word("Kot")}},
		{name: "a word between marks", text: "\u200e \u2068kot\u2069 \u200e", params: []asked.Param{command}, want: asked.Args{"command": word("kot")}},
		{name: "a word and a number", text: "kot  30", params: []asked.Param{command, seconds}, want: asked.Args{"command": word("kot"), "seconds": number("30", 30)}},
		{name: "the bounds are included", text: "3600", params: []asked.Param{seconds}, want: asked.Args{"seconds": number("3600", 3600)}},
		{name: "a sign", text: "+5", params: []asked.Param{maybe}, want: asked.Args{"maybe": number("+5", 5)}},
		{name: "a typographic minus", text: "−5", params: []asked.Param{maybe}, want: asked.Args{"maybe": number("−5", -5)}},
		{name: "an optional one left out", params: []asked.Param{maybe}, want: asked.Args{}},
		{name: "the rest keeps its lines", text: "kot a  b\n c", params: []asked.Param{command, words}, want: asked.Args{"command": word("kot"), "words": word("a  b\n c")}},
		{name: "an optional rest left out", text: "kot ", params: []asked.Param{command, anything}, want: asked.Args{"command": word("kot")}},
		{name: "a person", people: []asked.Mention{a}, params: []asked.Param{person}, want: asked.Args{"person": {Given: true, Mention: a}}},
		{name: "persons in their order, words between", text: "x", people: []asked.Mention{a, o}, params: []asked.Param{person, command, another},
			want: asked.Args{"person": {Given: true, Mention: a}, "command": word("x"), "another": {Given: true, Mention: o}}},
		{name: "a person by uuid", text: strings.ToUpper(ala), params: []asked.Param{person}, want: asked.Args{"person": {Given: true, Mention: asked.Mention{UUID: ala}}}},
		{name: "a mention and a uuid", text: ola, people: []asked.Mention{a}, params: []asked.Param{person, another},
			want: asked.Args{"person": {Given: true, Mention: a}, "another": {Given: true, Mention: asked.Mention{UUID: ola}}}},
		{name: "a uuid where a word is wanted", text: ola + " x", params: []asked.Param{command, words}, want: asked.Args{"command": word(ola), "words": word("x")}},
		{name: "mentions do not disturb a command without persons", text: "kot", people: []asked.Mention{a}, params: []asked.Param{command}, want: asked.Args{"command": word("kot")}},

		{name: "a missing word", params: []asked.Param{command}, misfit: asked.Misfit{Reason: asked.Missing, Param: command}},
		{name: "only a mark for a word", text: "\u200e", params: []asked.Param{command}, misfit: asked.Misfit{Reason: asked.Missing, Param: command}},
		{name: "a missing number", text: "kot", params: []asked.Param{command, seconds}, misfit: asked.Misfit{Reason: asked.Missing, Param: seconds}},
		{name: "a missing rest", text: "\u200e", params: []asked.Param{words}, misfit: asked.Misfit{Reason: asked.Missing, Param: words}},
		{name: "a missing person", text: "\u200e", params: []asked.Param{person}, misfit: asked.Misfit{Reason: asked.Missing, Param: person}},
		{name: "a missing person beside a word of somebody else's", text: "kot", params: []asked.Param{person, command}, misfit: asked.Misfit{Reason: asked.Missing, Param: person}},
		{name: "a person by name", text: "Ala mała", params: []asked.Param{person}, misfit: asked.Misfit{Reason: asked.NotPerson, Param: person, Got: "Ala"}},
		{name: "a second one by name", text: "Ala", people: []asked.Mention{o}, params: []asked.Param{person, {Name: "other", Kind: asked.Person}},
			misfit: asked.Misfit{Reason: asked.NotPerson, Param: asked.Param{Name: "other", Kind: asked.Person}, Got: "Ala"}},
		{name: "nearly a uuid", text: ala[:35] + "g", params: []asked.Param{person}, misfit: asked.Misfit{Reason: asked.NotPerson, Param: person, Got: ala[:35] + "g"}},
		{name: "a uuid of control characters", text: strings.ReplaceAll(ala, "0", "\x10"), params: []asked.Param{person}, misfit: asked.Misfit{Reason: asked.NotPerson, Param: person, Got: strings.ReplaceAll(ala, "0", "\x10")}},
		{name: "a uuid without hyphens", text: strings.ReplaceAll(ala, "-", "0"), params: []asked.Param{person}, misfit: asked.Misfit{Reason: asked.NotPerson, Param: person, Got: strings.ReplaceAll(ala, "-", "0")}},
		{name: "a person and a uuid too much", text: ola, people: []asked.Mention{a}, params: []asked.Param{person}, misfit: asked.Misfit{Reason: asked.TooMany, Got: ola}},
		{name: "no number", text: "dużo", params: []asked.Param{seconds}, misfit: asked.Misfit{Reason: asked.NotNumber, Param: seconds, Got: "dużo"}},
		{name: "a number with a unit", text: "5s", params: []asked.Param{seconds}, misfit: asked.Misfit{Reason: asked.NotNumber, Param: seconds, Got: "5s"}},
		{name: "no whole number", text: "1,5", params: []asked.Param{seconds}, misfit: asked.Misfit{Reason: asked.NotNumber, Param: seconds, Got: "1,5"}},
		{name: "too small a number", text: "-1", params: []asked.Param{seconds}, misfit: asked.Misfit{Reason: asked.OutOfRange, Param: seconds, Got: "-1"}},
		{name: "too big a number", text: "3601", params: []asked.Param{seconds}, misfit: asked.Misfit{Reason: asked.OutOfRange, Param: seconds, Got: "3601"}},
		{name: "a number beyond all numbers", text: strings.Repeat("9", 30), params: []asked.Param{seconds}, misfit: asked.Misfit{Reason: asked.OutOfRange, Param: seconds, Got: strings.Repeat("9", 30)}},
		{name: "the same without bounds", text: strings.Repeat("9", 30), params: []asked.Param{maybe}, misfit: asked.Misfit{Reason: asked.NotNumber, Param: maybe, Got: strings.Repeat("9", 30)}},
		{name: "a word too much", text: "kot 5 teraz", params: []asked.Param{command, seconds}, misfit: asked.Misfit{Reason: asked.TooMany, Got: "teraz"}},
		{name: "a person too much", people: []asked.Mention{a, o}, params: []asked.Param{person}, misfit: asked.Misfit{Reason: asked.TooMany}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := asked.CheckParams(tt.params); err != nil {
				t.Fatal(err)
			}
			args, err := asked.Call{Text: tt.text, Mentions: tt.people}.Fit(tt.params)
			var misfit asked.Misfit
			if e, ok := errors.AsType[*asked.Misfit](err); ok {
				misfit = *e
			}
			if misfit != tt.misfit || (err != nil) != (tt.misfit.Reason != 0) {
				t.Fatalf("error %#v, want %#v", misfit, tt.misfit)
			}
			if err != nil {
				if tt.misfit.Got != "" && strings.Contains(err.Error(), tt.misfit.Got) {
					t.Errorf("the error for logs has the user's text in it: %v", err)
				}
				return
			}
			if len(args) != len(tt.want) {
				t.Errorf("%+v, want %+v", args, tt.want)
			}
			for name, want := range tt.want {
				if args[name] != want {
					t.Errorf("%s = %+v, want %+v", name, args[name], want)
				}
			}
		})
	}
}

func TestParametersThatCannotBeFilledAreRefused(t *testing.T) {
	for name, params := range map[string][]asked.Param{
		"no name":                   {{Kind: asked.Word}},
		"a name twice":              {command, command},
		"no kind":                   {{Name: "x"}},
		"impossible bounds":         {{Name: "x", Kind: asked.Number, Min: 2, Max: 1}},
		"a word after the rest":     {words, command},
		"two rests":                 {words, anything},
		"required after optional":   {maybe, command},
		"persons required too late": {another, person},
	} {
		if asked.CheckParams(params) == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := asked.CheckParams([]asked.Param{command, maybe, anything, person, another}); err != nil {
		t.Error(err)
	}
}

func FuzzFit(f *testing.F) {
	f.Add("kot 5 reszta", int64(0), int64(10))
	f.Add("\u200e \u00a0", int64(-5), int64(math.MaxInt64))
	f.Add("kot −9223372036854775808", int64(math.MinInt64), int64(math.MaxInt64))
	f.Add("kot "+ola+" 5", int64(0), int64(10))
	f.Fuzz(func(t *testing.T, text string, low, high int64) {
		n := asked.Param{Name: "n", Kind: asked.Number, Optional: true, Min: min(low, high), Max: max(low, high)}
		args, err := asked.Call{Text: text}.Fit([]asked.Param{command, another, n, anything})
		if err != nil {
			if _, ok := errors.AsType[*asked.Misfit](err); !ok {
				t.Errorf("%q: %v is no misfit", text, err)
			}
			return
		}
		if v := args["n"]; v.Given && low != high && (v.Number < n.Min || v.Number > n.Max) {
			t.Errorf("%q: %d is not between %d and %d", text, v.Number, n.Min, n.Max)
		}
		if v := args["command"]; !v.Given || len(strings.Fields(v.Text)) != 1 {
			t.Errorf("%q: %q is not a word", text, v.Text)
		}
		if v := args["another"]; v.Given && (len(v.Mention.UUID) != len(ola) || !strings.Contains(strings.ToLower(text), v.Mention.UUID)) {
			t.Errorf("%q: %q is nobody", text, v.Mention.UUID)
		}
	})
}
