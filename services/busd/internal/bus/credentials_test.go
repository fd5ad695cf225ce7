package bus

import (
	"log/slog"
	"os"
	"testing"

	"quartet/services/busd/internal/listen"
	"quartet/services/busd/internal/policy"
)

// Who proved its user over tcp has shown no group: it is not taken for one of
// root's.
func TestACookieProvesNoGroup(t *testing.T) {
	p := &Peer{via: &listener{Listener: &listen.Listener{}}, who: credentials{known: true, uid: 1000}}
	if groups := new(Bus).groups(p); groups != nil {
		t.Errorf("groups %v", groups)
	}
}

// Peers of the same user and groups share a compiled policy, and however many
// have come in however many mixtures of groups, no more than so many are kept.
func TestKeptPoliciesAreBounded(t *testing.T) {
	set, _ := policy.Compile(nil, policy.Resolver{})
	b := &Bus{log: slog.New(slog.DiscardHandler), settings: Settings{Policy: set}, users: users{policies: map[string]*policy.Client{}}}
	p := &Peer{who: credentials{known: true, uid: 1000}, user: &user{uid: 1000, known: true}}
	for gid := range uint32(10 * keptPolicies) {
		if first := b.policyFor(p, []uint32{gid}); b.policyFor(p, []uint32{gid}) != first {
			t.Fatal("the policy of two peers of one user is compiled twice")
		}
	}
	if n := len(b.users.policies); n > keptPolicies {
		t.Errorf("%d policies are kept", n)
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
