package sasl

import (
	"bytes"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"
)

// step gives the mechanism what AUTH or DATA brought, in hexadecimal digits
// that were checked.
func (s *Server) step(response, out []byte) ([]byte, error) {
	switch s.mechanism {
	case External:
		return s.external(response, out)
	case CookieSHA1:
		if s.cookie == (Cookie{}) {
			return s.cookieIdentity(response, out)
		}
		return s.cookieResponse(response, out)
	default:
		return s.anonymous(response, out)
	}
}

func (s *Server) ok(out []byte) ([]byte, error) {
	s.state = waitingForBegin
	out = append(out, "OK "...)
	out = append(out, s.config.GUID...)
	return append(out, crlf...), nil
}

// ask sends an empty challenge to a client that brought no identity along.
func (s *Server) ask(out []byte) ([]byte, error) {
	s.state, s.asked = waitingForData, true
	return append(out, "DATA\r\n"...), nil
}

// external takes the number of the user that the kernel says the peer is. A
// peer that is asked and still names nobody is whoever the kernel says: in a
// user namespace it does not know its number outside. Names are not taken,
// as libdbus has it since 1.13: to look them up may take long.
func (s *Server) external(response, out []byte) ([]byte, error) {
	if len(response) == 0 {
		if !s.asked {
			return s.ask(out)
		}
		return s.ok(out)
	}
	if uid, isNumber := number(response); !isNumber || uid != s.config.Credentials.UID {
		return s.reject(out)
	}
	return s.ok(out)
}

// anonymous takes anybody. The trace that a client may send is to be text.
func (s *Server) anonymous(response, out []byte) ([]byte, error) {
	if !utf8.Valid(decode(response)) {
		return s.reject(out)
	}
	return s.ok(out)
}

// cookieIdentity takes the server's own user alone. The cookies of others
// lie in directories where they can put symbolic links (CVE-2019-12749).
func (s *Server) cookieIdentity(response, out []byte) ([]byte, error) {
	if len(response) == 0 {
		if !s.asked {
			return s.ask(out)
		}
		return s.reject(out)
	}
	uid, isNumber := number(response)
	own := isNumber && uid == s.config.OwnUID ||
		s.config.OwnName != "" && string(decode(response)) == s.config.OwnName
	if !own {
		return s.reject(out)
	}
	s.state = waitingForCookie
	return out, nil
}

// challenge sends the cookie's place and the challenge, once both are there.
func (s *Server) challenge(c Cookie, out []byte) ([]byte, error) {
	if !plain(c.Context) || !plain(c.Secret) || !plain(c.Challenge) {
		return out, errCookieFormat
	}
	s.state, s.cookie = waitingForData, c
	text := c.Context + " " + strconv.FormatUint(uint64(c.ID), 10) + " " + c.Challenge
	out = append(out, "DATA "...)
	out = hex.AppendEncode(out, []byte(text))
	return append(out, crlf...), nil
}

// cookieResponse compares what the client made of both challenges and the
// cookie.
func (s *Server) cookieResponse(response, out []byte) ([]byte, error) {
	challenge, digest, found := bytes.Cut(decode(response), []byte(" "))
	if !found || len(challenge) == 0 {
		return s.reject(out)
	}
	sum := sha1.Sum([]byte(s.cookie.Challenge + ":" + string(challenge) + ":" + s.cookie.Secret))
	want := hex.AppendEncode(nil, sum[:])
	if subtle.ConstantTimeCompare(want, digest) != 1 {
		return s.reject(out)
	}
	return s.ok(out)
}

// plain says that a part of a cookie can stand between blanks.
func plain(part string) bool {
	for i := range len(part) {
		if part[i] <= ' ' || part[i] >= 0x7f {
			return false
		}
	}
	return part != ""
}

// number reads hexadecimal digits that spell a decimal number, without
// decoding them: every connection passes here. Leading zeros are taken.
func number(digits []byte) (n uint32, isNumber bool) {
	var sum uint64
	for ; len(digits) >= 2; digits = digits[2:] {
		if digits[0] != '3' || digits[1] < '0' || digits[1] > '9' {
			return 0, false
		}
		sum = sum*10 + uint64(digits[1]-'0')
		if sum > math.MaxUint32 {
			return 0, false
		}
	}
	return uint32(sum), true
}

func isHex(digits []byte) bool {
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return len(digits)%2 == 0
}

// decode is for digits that isHex has passed.
func decode(digits []byte) []byte {
	plain := make([]byte, len(digits)/2)
	hex.Decode(plain, digits)
	return plain
}
