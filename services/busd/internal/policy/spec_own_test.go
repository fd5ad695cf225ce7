package policy_test

import (
	"testing"

	"quartet/services/busd/internal/policy"
)

// The sentences of dbus-daemon(1) about who may connect and who may own names.

func TestOnlyTheOwnUserConnectsByDefault(t *testing.T) {
	set := compile(t, `<policy context="default"><allow own="*"/></policy>`)
	if !set.MayConnect(alice, 1000).Allow || set.MayConnect(alice, 1001).Allow {
		t.Error("default of connecting")
	}
	if set.MayConnect(policy.Identity{Known: true}, 1000).Allow {
		t.Error("root connects without a rule")
	}
}

func TestUserAndGroupRulesSayWhoConnects(t *testing.T) {
	set := compile(t, `<policy context="default"><allow user="*"/><deny user="bob"/><deny group="audio"/></policy>
		<policy context="mandatory"><allow group="wheel"/></policy>`)
	for _, tt := range []struct {
		uid  uint32
		gids []uint32
		want bool
	}{{1000, nil, true}, {1001, nil, false}, {1000, []uint32{5, 29}, false}, {1001, []uint32{29, 10}, true}} {
		got := set.MayConnect(policy.Identity{UID: tt.uid, Known: true, GIDs: tt.gids}, 0)
		if got.Allow != tt.want {
			t.Errorf("uid %d groups %v: %s", tt.uid, tt.gids, got)
		}
	}
	if set.MayConnect(policy.Identity{}, 0).Allow {
		t.Error("an anonymous connection passes as a user")
	}
}

func TestStarMatchesAnyConnection(t *testing.T) {
	for _, element := range []string{`<allow user="*"/>`, `<allow group="*"/>`} {
		if !compile(t, `<policy context="default">`+element+`</policy>`).MayConnect(alice, 0).Allow {
			t.Errorf("%s does not let alice in", element)
		}
	}
}

func TestUserAndGroupStandAlone(t *testing.T) {
	cannot(t, "cannot stand together", "user=*", "own=a.b")
	cannot(t, "cannot stand together", "user=*", "group=*")
	cannot(t, "cannot stand together", "group=*", "send_type=*")
}

func TestOwnRules(t *testing.T) {
	c := rules(t, `<allow own="a.b"/>`)
	if !c.CanOwn("a.b").Allow || c.CanOwn("a.b.c").Allow || c.CanOwn("a.c").Allow {
		t.Error("own is not the name alone")
	}
	if c = rules(t, `<allow own="*"/>`); !c.CanOwn("x.y").Allow {
		t.Error(`own="*" does not match`)
	}
	if c = rules(t, `<allow own="*"/><deny own="a.b"/>`); c.CanOwn("a.b").Allow || !c.CanOwn("a.c").Allow {
		t.Error("deny own")
	}
}

func TestOwnPrefixCoversTheNamesBelow(t *testing.T) {
	c := rules(t, `<allow own_prefix="a.b"/>`)
	for name, want := range map[string]bool{"a.b": true, "a.b.c": true, "a.b.c.d": true, "a.bc": false, "a.c": false, "a.b.": true, "a": false} {
		if got := c.CanOwn(name); got.Allow != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
