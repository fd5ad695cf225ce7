package envelope_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"testing/quick"

	"quartet/services/botd/internal/envelope"
)

// Both spellings of the same group: the public one is always 66 characters and
// has neither '+' nor '/', so it can stand in a path.
func TestAGroupIDHasTwoSpellings(t *testing.T) {
	check := func(raw [32]byte) bool {
		internal := base64.StdEncoding.EncodeToString(raw[:])
		public := envelope.PublicGroupID(internal)
		back, ok := envelope.InternalGroupID(public)
		return ok && back == internal &&
			envelope.IsInternalGroupID(internal) &&
			len(public) == len("group.")+60 &&
			!strings.ContainsAny(public[len("group."):], "+/")
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

func TestInternalGroupIDRefusesOtherRecipients(t *testing.T) {
	for _, s := range []string{"", "group.", "group.ala.01", "+15550100000", groupID, "group." + groupID, "group.%%%", "group.QUJD"} {
		if internal, ok := envelope.InternalGroupID(s); ok {
			t.Errorf("%q was taken for group %q", s, internal)
		}
	}
}
