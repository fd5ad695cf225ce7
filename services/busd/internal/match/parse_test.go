package match_test

import (
	"errors"
	"strings"
	"testing"

	"quartet/services/busd/internal/match"
)

// TestGrammar has dbus-daemon's verdicts: canonical text, or "" and refused.
func TestGrammar(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"all keys", `arg3='x',arg0='y',eavesdrop=true,destination='a.b',sender=':1.2',path='/a',member='M',interface='a.b',type='error'`,
			`type='error',interface='a.b',member='M',path='/a',sender=':1.2',destination='a.b',eavesdrop='true',arg0='y',arg3='x'`},
		{"method call", `type='method_call'`, `type='method_call'`},
		{"method return", `type='method_return'`, `type='method_return'`},
		{"no quotes", `type=signal,member=M`, `type='signal',member='M'`},
		{"quotes in part", `member=A'B'C`, `member='ABC'`},
		{"blanks before keys", " type='signal', \t\r\nmember='M'", `type='signal',member='M'`},
		{"blanks before =", "type \n='signal'", `type='signal'`},
		{"trailing comma", `type='signal',`, `type='signal'`},
		{"trailing comma and blanks", `type='signal', `, `type='signal'`},
		{"eavesdrop false", `eavesdrop='false',member='M'`, `member='M'`},
		{"eavesdrop again", `eavesdrop='true',member='M',eavesdrop='false'`, `member='M'`},
		{"path_namespace", `path_namespace='/'`, `path_namespace='/'`},
		{"arg0namespace", `arg0namespace='com'`, `arg0namespace='com'`},
		{"arg0namespace of a unique name", `arg0namespace=':1'`, `arg0namespace=':1'`},
		{"argNpath", `arg7path='no path at all'`, `arg7path='no path at all'`},
		{"empty argument", `arg0=''`, `arg0=''`},
		{"empty argument without quotes", `arg0=,arg1=`, `arg0='',arg1=''`},
		{"last argument", `arg63='x'`, `arg63='x'`},
		{"octal argument", `arg007='x'`, `arg7='x'`},
		{"octal argument's path", `arg010path='x'`, `arg8path='x'`},
		{"hexadecimal argument", `arg0x1F='x'`, `arg31='x'`},
		{"signed argument", `arg+1='x'`, `arg1='x'`},
		{"argument behind a vertical tab", "arg\v1='x'", `arg1='x'`},
		{"argument wrapped around", `arg-18446744073709551615='x'`, `arg1='x'`},
		{"odd unique name", `sender=':x'`, `sender=':x'`},
		{"unique name starting with a dot", `sender=':.x'`, `sender=':.x'`},
		{"a well-known name in a namespace", `sender='org.freedesktop.DBus'`, `sender='org.freedesktop.DBus'`},
		{"apostrophe", `arg0='it'\''s'`, `arg0='it'\''s'`},
		{"apostrophe without quotes", `arg0=it\'s`, `arg0='it'\''s'`},
		{"backslash in quotes", `arg0='a\b\'`, `arg0='a\b\'`},
		{"backslash outside", `arg0=a\b`, `arg0='a\b'`},
		{"two backslashes", `arg0=\\`, `arg0='\\'`},
		{"last backslash", `arg0=\`, `arg0='\'`},
		{"comma behind a backslash", `arg0=a\,b`, `arg0='a\,b'`},
		{"comma in quotes", `arg0='a,b'`, `arg0='a,b'`},
		{"= in a value", `arg0=a=b`, `arg0='a=b'`},
		{"blank in a value", `arg0= a `, `arg0=' a '`},
		{"empty key ends the rule", `member='M',='x',type='nonsense'`, `member='M'`},
		{"more than sixteen", `arg0=,arg1=,arg2=,arg3=,arg4=,arg5=,arg6=,arg7=,arg8=,arg9=,arg10=,arg11=,arg12=,arg13=,arg14=,arg15=,nonsense`,
			`arg0='',arg1='',arg2='',arg3='',arg4='',arg5='',arg6='',arg7='',arg8='',arg9='',arg10='',arg11='',arg12='',arg13='',arg14='',arg15=''`},

		{"unknown key", `colour='red'`, ""},
		{"key in capitals", `Type='signal'`, ""},
		{"no value", `type`, ""},
		{"words", `hello world`, ""},
		{"empty item", `type='signal',,member='M'`, ""},
		{"blank before a value", `type= 'signal'`, ""},
		{"blank behind a value", `type='signal' ,member='M'`, ""},
		{"open quote", `member='M`, ""},
		{"third quote", `arg0='a''`, ""},
		{"unknown type", `type='sign'`, ""},
		{"type invalid", `type='invalid'`, ""},
		{"type empty", `type=''`, ""},
		{"type twice", `type='signal',type='signal'`, ""},
		{"member twice", `member='M',member='N'`, ""},
		{"sender twice", `sender='a.b',sender='a.b'`, ""},
		{"interface twice", `interface='a.b',interface='a.b'`, ""},
		{"destination twice", `destination='a.b',destination='a.b'`, ""},
		{"path twice", `path='/',path='/'`, ""},
		{"path beside path_namespace", `path='/',path_namespace='/'`, ""},
		{"path_namespace beside path", `path_namespace='/',path='/'`, ""},
		{"sender of one element", `sender='a'`, ""},
		{"sender empty", `sender=''`, ""},
		{"sender with two dots", `sender=':1..2'`, ""},
		{"sender ending in a dot", `sender=':1.'`, ""},
		{"destination invalid", `destination='1.2'`, ""},
		{"interface of one element", `interface='a'`, ""},
		{"member with a dot", `member='a.b'`, ""},
		{"path without slash", `path='a'`, ""},
		{"path ending in a slash", `path_namespace='/a/'`, ""},
		{"eavesdrop maybe", `eavesdrop='maybe'`, ""},
		{"eavesdrop empty", `eavesdrop=''`, ""},
		{"arg alone", `arg='x'`, ""},
		{"arg without number", `argx='x'`, ""},
		{"argpath without number", `argpath='x'`, ""},
		{"arg64", `arg64='x'`, ""},
		{"arg64path", `arg64path='x'`, ""},
		{"arg-1", `arg-1='x'`, ""},
		{"argument beyond 64 bits", `arg18446744073709551616='x'`, ""},
		{"octal 8", `arg08='x'`, ""},
		{"junk behind the number", `arg0foo='x'`, ""},
		{"0x without digits", `arg0x='x'`, ""},
		{"arg1namespace", `arg1namespace='com'`, ""},
		{"arg00namespace", `arg00namespace='com'`, ""},
		{"arg0namespace invalid", `arg0namespace='com.'`, ""},
		{"arg0namespace empty", `arg0namespace=''`, ""},
		{"argN twice", `arg0='a',arg0='b'`, ""},
		{"argN beside argNpath", `arg0='a',arg0path='b'`, ""},
		{"argN beside arg0namespace", `arg0namespace='a',arg0='b'`, ""},
		{"argN twice by another number", `arg7='a',arg007='b'`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := match.Parse(c.text)
			var refusal *match.Error
			switch {
			case c.want == "" && err == nil:
				t.Fatalf("%s is taken as %s, want it refused", c.text, r)
			case c.want == "" && (!errors.As(err, &refusal) || refusal.Name != match.Invalid):
				t.Fatalf("refused with %v, want a %s", err, match.Invalid)
			case c.want != "" && err != nil:
				t.Fatalf("%s is refused: %v", c.text, err)
			case c.want != "" && r.String() != c.want:
				t.Fatalf("%s is\n%s, want\n%s", c.text, r, c.want)
			}
		})
	}
}

func TestEmptyRulesMatchEverything(t *testing.T) {
	for _, text := range []string{"", " \t\r\n", "=", "='x'"} {
		if r := parse(t, text); r != (match.Rule{}) {
			t.Errorf("%q is %q, want the empty rule", text, r)
		}
	}
	if !matches(t, "", signal()) {
		t.Error("the empty rule does not match a signal")
	}
}

func TestARuleBeyond1024BytesExceedsALimit(t *testing.T) {
	fits := "arg0='" + strings.Repeat("x", match.MaxLength-7) + "'"
	parse(t, fits)
	_, err := match.Parse(fits + ",")
	var refusal *match.Error
	if !errors.As(err, &refusal) || refusal.Name != match.LimitsExceeded {
		t.Errorf("1025 bytes: %v, want %s", err, match.LimitsExceeded)
	}
}

func TestEqualityIsThatOfTheParsedForm(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`member=zz`, `member='zz'`, true},
		{`member='zz',type='signal'`, ` type=signal, member=zz,`, true},
		{`arg1='b',arg0='a'`, `arg0='a',arg1='b'`, true},
		{`eavesdrop='false'`, ``, true},
		{`eavesdrop='true'`, ``, false},
		{`path='/a'`, `path_namespace='/a'`, false},
		{`arg0='a.b'`, `arg0namespace='a.b'`, false},
		{`arg0='/a'`, `arg0path='/a'`, false},
		{`arg0='a'`, `arg1='a'`, false},
		{`arg0=''`, ``, false},
		{`interface='a.b'`, `sender='a.b'`, false},
		{`sender='a.b'`, `destination='a.b'`, false},
		{`type='signal'`, ``, false},
	} {
		if got := parse(t, c.a) == parse(t, c.b); got != c.want {
			t.Errorf("%q equal to %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "type='signal'", `arg0='it'\''s',arg63path=/a/`, "path_namespace='/',sender=:1.2,eavesdrop=true",
		"arg0namespace=com.example,", "arg007=x,='x'", `arg0=\,\'`, "type = signal", "arg-18446744073709551615=x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := match.Parse(text)
		if err != nil {
			if r != (match.Rule{}) {
				t.Fatalf("%q is refused and yet is %q", text, r)
			}
			return
		}
		again, err := match.ParseLong(r.String())
		if err != nil {
			t.Fatalf("%q: its canonical text %q is refused: %v", text, r, err)
		}
		if again != r || again.String() != r.String() {
			t.Fatalf("%q: its canonical text %q is read as %q", text, r, again)
		}
		var x match.Index[int]
		x.Add(1, r)
		x.Find(signal(arg{"s", text}).bus(), func(int) {})
		if !x.Remove(1, again) || !x.IsEmpty() {
			t.Fatalf("%q cannot be removed by its canonical text", text)
		}
	})
}
