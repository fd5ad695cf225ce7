package transport

import (
	"encoding/base64"
	"encoding/json"
)

// AppendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return append(b, quoted...)
}

// AppendDataURI appends an attachment's data as the data URI that signal-cli
// takes, with its file name. It holds nothing that JSON would have to escape.
// For a picture's sake nothing is copied: encoding/json would do it twice.
func AppendDataURI(b []byte, a *Attachment) []byte {
	b = append(b, `data:`...)
	b = appendPlain(b, a.ContentType, '/')
	b = append(b, `;filename=`...)
	b = appendPlain(b, a.Filename, '.')
	b = append(b, `;base64,`...)
	return base64.StdEncoding.AppendEncode(b, a.Data)
}

// PlainFilename is name with everything replaced that has a meaning in a data
// URI, in JSON or in a path.
func PlainFilename(name string) string {
	return string(appendPlain(nil, name, '.'))
}

// appendPlain appends s with everything but letters, digits and . - + _ also
// replaced by _.
func appendPlain(b []byte, s string, also byte) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '+', c == '_', c == also:
			b = append(b, c)
		default:
			b = append(b, '_')
		}
	}
	return b
}
