package policy_test

import (
	"errors"
	"strings"
	"testing"

	"quartet/services/busd/internal/busconf"
	"quartet/services/busd/internal/policy"
	"quartet/services/busd/internal/wire"
)

// people are the users and groups of the tests.
var people = policy.Resolver{
	User: func(name string) (uint32, bool) {
		id, ok := map[string]uint32{"root": 0, "messagebus": 101, "alice": 1000, "alias": 1000, "bob": 1001}[name]
		return id, ok
	},
	Group: func(name string) (uint32, bool) {
		id, ok := map[string]uint32{"audio": 29, "wheel": 10}[name]
		return id, ok
	},
}

var alice = policy.Identity{UID: 1000, Known: true, GIDs: []uint32{1000}}

// sections reads <policy> elements. The first is on line 1 of "conf".
func sections(t testing.TB, policies string) []policy.Section {
	t.Helper()
	c, err := busconf.Load("conf", busconf.Source{
		Read: func(string) ([]byte, error) {
			return []byte("<busconfig><listen>x:</listen>" + policies + "</busconfig>"), nil
		},
		Missing: func(error) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.Policies
}

// compile makes a set of <policy> elements; a warning is a failure.
func compile(t testing.TB, policies string) *policy.Set {
	t.Helper()
	set, warnings := policy.Compile(sections(t, policies), people)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return set
}

// rules is the policy of everybody, made of rules in a default context.
func rules(t testing.TB, elements string) *policy.Client {
	t.Helper()
	return compile(t, `<policy context="default">`+elements+`</policy>`).For(alice)
}

// cannot checks that a rule is refused, for a reason with the words.
func cannot(t *testing.T, words string, attrs ...string) {
	t.Helper()
	_, err := policy.ParseRule(true, attributes(attrs), "conf", 1)
	if err == nil {
		t.Errorf("%q is a rule", attrs)
	} else if !strings.Contains(err.Error(), words) {
		t.Errorf("%q: error %q lacks %q", attrs, err, words)
	}
}

// attributes splits name=value.
func attributes(pairs []string) []policy.Attr {
	var attrs []policy.Attr
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		attrs = append(attrs, policy.Attr{Name: name, Value: value})
	}
	return attrs
}

// sends checks whether a message may go to a connection with the names.
func sends(t *testing.T, c *policy.Client, m policy.Message, want bool, to ...string) {
	t.Helper()
	if got := c.CanSend(&m, to); got.Allow != want {
		t.Errorf("sending %+v to %q: %s", m, to, got)
	}
}

func receives(t *testing.T, c *policy.Client, m policy.Message, want bool, from ...string) {
	t.Helper()
	if got := c.CanReceive(&m, from, false); got.Allow != want {
		t.Errorf("receiving %+v from %q: %s", m, from, got)
	}
}

// call is a method call to a name, signal a broadcast, reply an answer.
func call(to, iface, member string) policy.Message {
	return policy.Message{Type: wire.MethodCall, Path: "/p", Interface: iface, Member: member, Destination: to}
}

func signal(iface, member string) policy.Message {
	return policy.Message{Type: wire.Signal, Path: "/p", Interface: iface, Member: member}
}

func reply(requested bool) policy.Message {
	return policy.Message{Type: wire.MethodReturn, Destination: ":1.9", RequestedReply: requested}
}

func TestVerdictNamesItsRule(t *testing.T) {
	c := compile(t, "<policy context=\"default\">\n<deny send_type=\"method_call\"/>\n</policy><policy user=\"alice\">\n<allow send_interface=\"a.B\"/></policy>").For(alice)
	m := call("x.y", "c.D", "M")
	if got, want := c.CanSend(&m, nil).String(), `refused by conf:2: <deny send_type="method_call"/> in <policy context="default">`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m.Interface = "a.B"
	if got, want := c.CanSend(&m, nil).String(), `allowed by conf:4: <allow send_interface="a.B"/> in <policy user="alice">`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := c.CanOwn("a.b").String(), "refused: no rule matches"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRefusalCountsMatchingRules(t *testing.T) {
	c := rules(t, `<allow send_destination="a.b"/><allow send_destination="*"/><deny send_destination_prefix="a"/><deny send_type="signal"/>`)
	m := call("a.b", "", "M")
	if got := c.CanSend(&m, policy.Names{"a.b"}); got.Allow || got.Matched != 3 {
		t.Errorf("verdict %+v, want a refusal with 3 rules", got)
	}
}

func TestRuleAsksForLogging(t *testing.T) {
	c := rules(t, `<allow send_destination="*" eavesdrop="true"/><allow send_interface="a.B" log="true"/>`)
	m := call("a.b", "a.B", "M")
	if got := c.CanSend(&m, nil); !got.Allow || !got.Log || got.Matched != 2 {
		t.Errorf("verdict %+v, want logged, 2 rules", got)
	}
	if c.SendsAll() {
		t.Error("SendsAll though some messages are to be logged")
	}
}

// systemd/systemd#19212: a user that does not exist when the bus starts made
// its rules vanish without a word.
func TestUnknownUserIsWarnedAbout(t *testing.T) {
	s := sections(t, `<policy user="nobody-here"><allow own="*"/></policy>
		<policy group="99"><allow own="a.b"/></policy>
		<policy context="default"><allow user="also-nobody"/><allow group="wheel"/></policy>`)
	set, warnings := policy.Compile(s, people)
	if len(warnings) != 2 || !strings.Contains(warnings[0].String(), `conf:3: <allow user="also-nobody"/>`) ||
		!strings.Contains(warnings[1].String(), `conf:1: user="nobody-here"`) {
		t.Errorf("warnings %v", warnings)
	}
	if set.For(policy.Identity{Known: true}).CanOwn("a.b").Allow {
		t.Error("the rules of an unknown user apply to root")
	}
	// When the user exists, compiling the same sections anew takes it in.
	set, warnings = policy.Compile(s, policy.Resolver{
		User:  func(string) (uint32, bool) { return 7, true },
		Group: people.Group,
	})
	if len(warnings) != 0 || !set.For(policy.Identity{UID: 7, Known: true}).CanOwn("a.b").Allow {
		t.Errorf("after the user exists: warnings %v", warnings)
	}
}

func TestRuleAboutConnectingIsVoidOutsideContexts(t *testing.T) {
	r, err := policy.ParseRule(true, attributes([]string{"user=*"}), "conf", 1)
	if err != nil {
		t.Fatal(err)
	}
	set, warnings := policy.Compile([]policy.Section{{Context: policy.User, Name: "alice", Rules: []policy.Rule{r}}}, people)
	if len(warnings) != 1 || set.MayConnect(alice, 0).Allow {
		t.Errorf("warnings %v", warnings)
	}
}

// CVE-2020-35512: two user names with one id shared rules that were freed
// twice. Both policies apply, in the order of the file, and compiling anew
// while others ask is safe (run with -race).
func TestTwoNamesOfOneUserBothApply(t *testing.T) {
	s := sections(t, `<policy user="alice"><allow own="a.b"/><allow own="c.d"/></policy><policy user="alias"><deny own="c.d"/></policy>`)
	current := make(chan *policy.Client, 1)
	set, _ := policy.Compile(s, people)
	current <- set.For(alice)
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			for range 200 {
				c := <-current
				current <- c
				if !c.CanOwn("a.b").Allow || c.CanOwn("c.d").Allow {
					done <- errors.New("a rule of one of the names does not apply")
					return
				}
				set, _ := policy.Compile(s, people)
				<-current
				current <- set.For(alice)
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
