package wire_test

import (
	"strings"
	"testing"

	"quartet/services/busd/internal/wire"
)

// One test for each sentence of the specification's chapter "Type System" that
// a bus can see broken, in the chapter's order.

// verdict checks a body against a signature, through a whole message.
func verdict(t testing.TB, sig string, body []byte, big bool) error {
	t.Helper()
	m := message{kind: 2, serial: 1, big: big, bodyLen: len(body), fields: []field{{5, "u", uint32(1)}, {8, "g", sig}}}
	header, _ := m.bytes()
	var p wire.Message
	if err := p.Parse(header); err != nil {
		return err
	}
	return p.CheckBody(body)
}

func accepts(t testing.TB, sig string, body ...byte) {
	t.Helper()
	if err := verdict(t, sig, body, false); err != nil {
		t.Errorf("%s %q refused: %v", sig, body, err)
	}
}

func refuses(t testing.TB, sig string, body ...byte) {
	t.Helper()
	if verdict(t, sig, body, false) == nil {
		t.Errorf("%s %q accepted", sig, body)
	}
}

// str is the marshalling of a string where no padding is needed before it.
func str(s string) []byte {
	return append(append([]byte{byte(len(s)), byte(len(s) >> 8), byte(len(s) >> 16), 0}, s...), 0)
}

func signatures(t *testing.T, want bool, all ...string) {
	t.Helper()
	for _, s := range all {
		if wire.ValidSignature(s) != want {
			t.Errorf("ValidSignature(%q) = %v", s, !want)
		}
		if (naiveSignature(s) == nil) != want {
			t.Errorf("the naive codec is wrong about signature %q", s)
		}
	}
}

func TestEmptySignatureIsValid(t *testing.T) {
	signatures(t, true, "")
	accepts(t, "")
}

func TestSignatureMayHoldSeveralCompleteTypes(t *testing.T) {
	signatures(t, true, "ii", "aiai", "(ii)(ii)")
}

func TestIncompleteTypesAreInvalid(t *testing.T) { signatures(t, false, "aa", "(ii", "ii)") }

func TestEveryBasicTypeIsACompleteType(t *testing.T) {
	for _, c := range "ybnqiuxtdhsogv" {
		signatures(t, true, string(c), "a"+string(c), "("+string(c)+")")
	}
}

func TestBooleanIsZeroOrOne(t *testing.T) {
	accepts(t, "bb", 0, 0, 0, 0, 1, 0, 0, 0)
	refuses(t, "b", 2, 0, 0, 0)
	refuses(t, "b", 0, 0, 0, 1)
	refuses(t, "b", 1, 1, 0, 0)
	accepts(t, "ab", 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
	refuses(t, "ab", 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0)
	if err := verdict(t, "b", []byte{0, 0, 0, 1}, true); err != nil {
		t.Error(err)
	}
	if verdict(t, "b", []byte{1, 0, 0, 0}, true) == nil {
		t.Error("big endian boolean 1<<24 accepted")
	}
}

func TestNumbersMayHaveAnyValue(t *testing.T) {
	for sig, n := range map[string]int{"y": 1, "n": 2, "q": 2, "i": 4, "u": 4, "h": 4, "x": 8, "t": 8, "d": 8} {
		accepts(t, sig, []byte("\xff\xff\xff\xff\xff\xff\xff\xff")[:n]...)
		accepts(t, sig, make([]byte, n)...)
		refuses(t, sig, make([]byte, n-1)...)
		refuses(t, sig, make([]byte, n+1)...)
	}
}

// text runs texts through strings of every small length before and after, so
// that each lies anywhere in the words that are checked at once.
func text(t *testing.T, want bool, all ...string) {
	t.Helper()
	for _, s := range all {
		for before := range 40 {
			whole := strings.Repeat("x", before) + s + strings.Repeat("y", before*7%19)
			if (verdict(t, "s", str(whole), false) == nil) != want {
				t.Errorf("text %q: accepted is %v", whole, !want)
			}
		}
	}
}

func TestTextIsUTF8(t *testing.T) {
	text(t, true, "", "a", "é", "日本", "\U0001F600", "\u0080", "\u07ff", "\u0800", "\uffff", "\U00010000", "\x7f", "\x01")
	text(t, false, "\x80", "\xff", "\xc3", "\xe6\x97", "\xf0\x9f\x98", "\xc3(", "a\xfeb")
}

func TestTextHoldsNoNUL(t *testing.T) { text(t, false, "\x00", "a\x00b", "é\x00", "\x00é") }

func TestOverlongTextIsInvalid(t *testing.T) {
	text(t, false, "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80", "\xf8\x88\x80\x80\x80")
}

func TestCodePointsEndAtTenFFFF(t *testing.T) {
	text(t, true, "\U0010FFFF")
	text(t, false, "\xf4\x90\x80\x80", "\xf7\xbf\xbf\xbf")
}

func TestSurrogatesAreInvalid(t *testing.T) { text(t, false, "\xed\xa0\x80", "\xed\xbf\xbf") }

func TestNoncharactersAreValid(t *testing.T) {
	text(t, true, "\ufdd0", "\ufdef", "\ufffe", "\uffff", "\U0001fffe", "\U0010ffff")
}

func TestTextEndsInOneNUL(t *testing.T) {
	accepts(t, "s", 1, 0, 0, 0, 'a', 0)
	refuses(t, "s", 1, 0, 0, 0, 'a', 'b')
	refuses(t, "s", 1, 0, 0, 0, 'a')
	refuses(t, "s", 1, 0, 0, 0, 'a', 0, 0)
	refuses(t, "o", 1, 0, 0, 0, '/', '/')
	refuses(t, "g", 1, 'y', 'y')
	refuses(t, "g", 1, 'y')
}

// paths checks object paths in a body, in the header and by themselves.
func paths(t *testing.T, want bool, all ...string) {
	t.Helper()
	for _, s := range all {
		m := plain(4)
		m.fields[0].value = s
		header, _ := m.bytes()
		var p wire.Message
		if wire.ValidPath(s) != want || (verdict(t, "o", str(s), false) == nil) != want || (p.Parse(header) == nil) != want {
			t.Errorf("path %q: valid is %v", s, !want)
		}
	}
}

func TestPathMayBeOfAnyLength(t *testing.T) {
	for n := range 300 {
		paths(t, true, "/"+strings.Repeat("a", n), "/"+strings.Repeat("a/", n)+"z")
	}
	paths(t, true, "/"+strings.Repeat("a", 100000))
}

func TestPathBeginsWithASlash(t *testing.T) { paths(t, false, "", "a", "a/b", "com/example/Thing") }

func TestPathElementsAreLettersDigitsAndUnderscores(t *testing.T) {
	for c := range 256 {
		if c == '/' {
			continue // separates them
		}
		ok := c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		for n := range 20 {
			paths(t, ok, "/"+strings.Repeat("q", n)+string([]byte{byte(c)})+strings.Repeat("q", 19-n))
		}
	}
}

func TestPathElementsAreNotEmpty(t *testing.T) {
	for n := range 20 {
		x := "/" + strings.Repeat("x", n)
		paths(t, false, x+"//y", "/y"+x+"//y", "//"+x)
	}
}

func TestOnlyTheRootPathEndsInASlash(t *testing.T) {
	paths(t, true, "/")
	for n := range 20 {
		paths(t, false, "/x"+strings.Repeat("x", n)+"/")
	}
}

func TestArraysNeedElementTypes(t *testing.T) { signatures(t, false, "a", "ia", "(a)", "a{sa}", "a)") }

func TestStructsNeedBothParentheses(t *testing.T) {
	signatures(t, false, "(", ")", "(i", "i)", "((i)", "(i))", "a(i", "(a{sv)}")
}

func TestOnlyTypeCodesAreAllowed(t *testing.T) {
	for c := range 256 {
		ok := strings.IndexByte("ybnqiuxtdhsogv", byte(c)) >= 0
		s := string([]byte{byte(c)})
		signatures(t, ok, s, "a"+s, "("+s+")", "a{s"+s+"}", "s"+s)
	}
	// r, e, m, *, ?, @, & and ^ are reserved for use outside of messages.
	signatures(t, false, "r", "e", "m", "*", "?", "@", "&", "^")
}

func TestSignatureNestsAtMost32Arrays(t *testing.T) {
	signatures(t, true, strings.Repeat("a", 32)+"y", strings.Repeat("a", 31)+"a{ys}")
	signatures(t, false, strings.Repeat("a", 33)+"y", strings.Repeat("a", 32)+"a{ys}", strings.Repeat("a", 31)+"a{say}")
	signatures(t, true, strings.Repeat("a", 32)+"y"+strings.Repeat("a", 32)+"y")
}

func TestSignatureNestsAtMost32Structs(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("(", n) + "y" + strings.Repeat(")", n) }
	signatures(t, true, nest(32), nest(32)+nest(32))
	signatures(t, false, nest(33))
}

func TestSignatureNestsAtMost64Containers(t *testing.T) {
	for _, sig := range []string{
		strings.Repeat("a", 32) + strings.Repeat("(", 32) + "y" + strings.Repeat(")", 32),
		strings.Repeat("a(", 32) + "y" + strings.Repeat(")", 32),
	} {
		signatures(t, true, sig)
		signatures(t, false, "a"+sig, "("+sig+")")
	}
	// Dict entries are of no kind of their own there, in values they count.
	signatures(t, true, strings.Repeat("a{s(", 32)+"y"+strings.Repeat(")}", 32))
}

func TestSignatureHasAtMost255Bytes(t *testing.T) {
	signatures(t, true, strings.Repeat("y", 255), "("+strings.Repeat("y", 253)+")", strings.Repeat("(y)", 85))
	signatures(t, false, strings.Repeat("y", 256), "("+strings.Repeat("y", 254)+")")
	accepts(t, strings.Repeat("y", 255), make([]byte, 255)...)
	accepts(t, strings.Repeat("y", 253)+"ay", append(make([]byte, 256), 0, 0, 0, 0)...)
}

func TestEmptyStructsAreInvalid(t *testing.T) { signatures(t, false, "()", "a()", "(())", "(i())") }

func TestStructsMayBeNested(t *testing.T) { signatures(t, true, "(i(ii))", "((ii)i)", "(iii)") }

func TestArraysMayBeOfAnyType(t *testing.T) {
	signatures(t, true, "ai", "a(ii)", "aai", "av", "a{sv}", "aa{sa{sv}}", "a(a{s(ii)}ai)")
}

func TestVariantHoldsExactlyOneCompleteType(t *testing.T) {
	accepts(t, "v", 1, 'y', 0, 7)
	accepts(t, "v", 2, 'a', 'y', 0, 1, 0, 0, 0, 7)
	accepts(t, "v", 4, '(', 'y', 'y', ')', 0, 0, 0, 7, 7)
	refuses(t, "v", 2, 'y', 'y', 0, 7, 7)
	refuses(t, "v", 0, 0)
	refuses(t, "v", 1, 'a', 0, 7)
	refuses(t, "v", 4, 'a', 'y', 'a', 'y', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	refuses(t, "v", 6, '(', 'y', ')', '(', 'y', ')', 0, 7, 0, 0, 0, 0, 0, 0, 0, 7)
	refuses(t, "v", 1, 'r', 0, 7)
	refuses(t, "v", 1, 0, 0, 7)
}

// nested is a variant in n-1 other variants, around a byte.
func nested(n int) (body []byte) {
	for range n - 1 {
		body = append(body, 1, 'v', 0)
	}
	return append(body, 1, 'y', 0, 7)
}

// CVE-2009-1189, CVE-2010-4352; bus1/dbus-broker#192.
func TestVariantsNestAtMost64Deep(t *testing.T) {
	accepts(t, "v", nested(64)...)
	refuses(t, "v", nested(65)...)
	refuses(t, "v", nested(100000)...)
}

func TestVariantsAndOtherContainersNestAtMost64Deep(t *testing.T) {
	for _, test := range []struct {
		sig    string
		before []byte
		within int
	}{
		{"av", []byte{0, 0, 0, 0}, 1},
		{"(v)", nil, 1},
		{"((((v))))", nil, 4},
		{"a{yv}", []byte{0, 0, 0, 0, 0, 0, 0, 0, 1}, 2},
		{"a(v)", []byte{0, 0, 0, 0, 0, 0, 0, 0}, 2},
	} {
		for n := 60; n < 70; n++ {
			body := append(append([]byte{}, test.before...), nested(n)...)
			if test.sig[0] == 'a' {
				body[0] = byte(len(body) - 4)
				if len(test.before) >= 8 {
					body[0] = byte(len(body) - 8)
				}
			}
			if n+test.within <= 64 {
				accepts(t, test.sig, body...)
			} else {
				refuses(t, test.sig, body...)
			}
		}
	}
}

func TestDictEntriesOccurOnlyInArrays(t *testing.T) {
	signatures(t, true, "a{ss}")
	signatures(t, false, "{ss}", "({ss})", "a({ss})", "a{s{ss}}", "i{ss}", "ai{ss}")
}

func TestDictEntriesHaveTwoTypes(t *testing.T) {
	signatures(t, false, "a{}", "a{s}", "a{sss}", "a{sa}", "a{ss", "a{s", "a{", "a{s(s}", "a{ss)")
}

func TestDictKeysAreBasic(t *testing.T) {
	for _, c := range "ybnqiuxtdhsog" {
		signatures(t, true, "a{"+string(c)+"v}")
	}
	signatures(t, false, "a{vs}", "a{(s)s}", "a{ass}", "a{a{ss}s}")
}

// The specification calls such a message corrupt, and does not ask for a check.
func TestDictKeysMayRepeat(t *testing.T) {
	accepts(t, "a{yy}", 10, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 2)
}

// CVE-2008-3834, CVE-2022-42010: mis-nested brackets.
func TestBracketsNestProperly(t *testing.T) {
	signatures(t, false, "a{i(u}", "(a{sv)}", "a{s(v})", "a{si)", "(i}", "a(i}", "a{(sv})")
}
