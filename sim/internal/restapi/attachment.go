package restapi

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"quartet/sim/internal/signalnet"
)

// decodeAttachments reads the three forms of base64_attachments: plain base64,
// data:MIME;base64,B64 and data:MIME;filename=NAME;base64,B64.
func decodeAttachments(forms []string) ([]signalnet.Attachment, error) {
	files := make([]signalnet.Attachment, 0, len(forms))
	for _, form := range forms {
		name, data := splitAttachment(form)
		if data == "" {
			return nil, refusal("The base64 data does not exist.")
		}
		content, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, err // its words are the real server's: "illegal base64 data at input byte N"
		}
		if name == "" {
			name = unnamed(content)
		}
		if strings.Contains(name, "/") { // it becomes a path in a folder that has no such folder
			return nil, fmt.Errorf("open %s: no such file or directory", name)
		}
		files = append(files, signalnet.NewAttachment(name, content))
	}
	return files, nil
}

// splitAttachment returns the file name, if one is given, and the base64 text.
// The MIME type that is given does not matter: the file is looked at instead.
func splitAttachment(form string) (name, data string) {
	at := strings.LastIndex(form, "base64,")
	if at < 0 || !strings.Contains(form, "data:") {
		return "", form
	}
	for part := range strings.SplitSeq(form[:at], ";") {
		if value, ok := strings.CutPrefix(part, "filename="); ok {
			name = value
		}
	}
	return name, form[at+len("base64,"):]
}

// unnamed returns the name that the server gives a file without one.
func unnamed(content []byte) string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	name := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	kind, _, _ := strings.Cut(http.DetectContentType(content), ";")
	return name + signalnet.ExtensionOf(kind)
}
