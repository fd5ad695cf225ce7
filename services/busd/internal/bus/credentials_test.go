package bus

import (
	"os"
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

// /proc is read for the first refusal of a peer, and not for each.
func TestLoginIsLookedUpOnce(t *testing.T) {
	const comm = "/proc/self/comm"
	before, err := os.ReadFile(comm)
	if err != nil {
		t.Fatal(err)
	}
	p := &Peer{who: credentials{known: true, uid: 1000, pid: int32(os.Getpid())}}
	first := p.login()
	if err := os.WriteFile(comm, []byte("renamed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(comm, before, 0)
	if again := p.login(); again != first {
		t.Errorf("%s, and then %s", first, again)
	}
}
