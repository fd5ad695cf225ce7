package steer

import (
	"strings"
	"testing"
)

func FuzzSpecs(f *testing.F) {
	for _, seed := range []string{
		`[]`, `{}`, `[{"sender":"a","text":"x"}]`, `[{"raw":{"account":"+1"}}]`, `[{"sender":"a","attachments":3}]`,
		`[{"sender":"a","attachments":[{"bytes":1,"content_type":"image/png"}],"age":"1h"}]`, `[{"sync":true,"to":"b","edit_of":1}]`,
		`[{"sender":"a","group":"g","update":true}]`, `[{"sender":"a","receipt":{"kind":"read","timestamps":[1]}}]`,
		`[{"sender":"a","reaction":{"emoji":"x"}}]`, `[{"sender":"a","typing":"STOPPED"}]`, `[{"sender":"a","delete_of":-1,"quote":{},"mentions":[{}]}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		specs, err := readSpecs(strings.NewReader(body), false)
		if err != nil {
			return
		}
		for _, s := range specs {
			if s.Sender == "" && len(s.Raw) == 0 && s.Kind() != "sync" {
				t.Errorf("nobody wrote %+v", s)
			}
			if s.Extra != nil && len(s.Attachments) > 32 {
				t.Errorf("%d attachments", len(s.Attachments))
			}
		}
	})
}
