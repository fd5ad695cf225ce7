package bus

import (
	"testing"

	"quartet/services/busd/internal/listen"
)

// Who proved its user over tcp has shown no group: it is not taken for one of
// root's.
func TestACookieProvesNoGroup(t *testing.T) {
	p := &Peer{via: &listener{Listener: &listen.Listener{}}, who: credentials{known: true, uid: 1000}}
	if groups := new(Bus).groups(p); groups != nil {
		t.Errorf("groups %v", groups)
	}
}
