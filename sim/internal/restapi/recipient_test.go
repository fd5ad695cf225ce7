package restapi

import (
	"encoding/base64"
	"testing"

	"quartet/sim/internal/signalnet"
)

func FuzzRecipients(f *testing.F) {
	for _, seed := range []string{"", "+", "+1 555", "group.", "group.4242", "group.!!!!!!!!!!!", "ala.42", "11111111-1111-4111-8111-111111111111", signalnet.DemoGroup("x").PublicID()} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, recipient string) {
		kind, internal, err := kindOf(recipient)
		if err != nil || kind != toGroup {
			if internal != "" {
				t.Errorf("%q has the group %q", recipient, internal)
			}
			return
		}
		if id, err := base64.StdEncoding.DecodeString(internal); err != nil || len(id) != 32 {
			t.Errorf("%q is taken for the group %q", recipient, internal)
		}
	})
}
