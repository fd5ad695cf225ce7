package bus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// ordered is what a client sees of names, replies among it, in order.
func ordered(t testing.TB, all []*client.Message) (list []string) {
	t.Helper()
	for _, m := range all {
		list = append(list, strings.TrimPrefix(strings.TrimPrefix(describe(m), "type 4 from org.freedesktop.DBus org.freedesktop.DBus "), "type 2 from org.freedesktop.DBus "))
	}
	return list
}

func same(t testing.TB, who string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s got %q, want %q", who, got, want)
	}
}

func requestName(c *client.Conn, t testing.TB, name string, flags uint32) {
	t.Helper()
	get(c.Send(wire.Header{Type: wire.MethodCall, Path: wire.BusPath, Interface: wire.BusName, Member: "RequestName", Destination: wire.BusName, Signature: "su"}, func(e *wire.Encoder) {
		e.String(name)
		e.Uint32(flags)
	}))(t)
}

const changes = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'"

// The old owner hears NameLost, everybody NameOwnerChanged, the new owner
// NameAcquired, and only then comes the reply.
func TestOrderOfSignalsOfANameThatIsTaken(t *testing.T) {
	b := start(t, allowAll)
	old, young, watcher := b.dial(), b.dial(), b.dial()
	for _, c := range []*client.Conn{old, young, watcher} {
		must(t, c.AddMatch(changes))
	}
	requestName(old, t, "com.example.A", 1)
	changed := fmt.Sprintf(`NameOwnerChanged "com.example.A" "" %q`, old.Name)
	same(t, "the first owner", ordered(t, []*client.Message{next(t, old), next(t, old), next(t, old)}), changed, `NameAcquired "com.example.A"`, "1")
	settle(t, young)
	requestName(young, t, "com.example.A", 2)
	taken := fmt.Sprintf(`NameOwnerChanged "com.example.A" %q %q`, old.Name, young.Name)
	same(t, "the second owner", ordered(t, []*client.Message{next(t, young), next(t, young), next(t, young)}), taken, `NameAcquired "com.example.A"`, "1")
	same(t, "who lost it", ordered(t, settle(t, old)), `NameLost "com.example.A"`, taken)
	same(t, "the watcher", ordered(t, settle(t, watcher)), changed, taken)
	get(young.ReleaseName("com.example.A"))(t) // the first owner is queued
	back := fmt.Sprintf(`NameOwnerChanged "com.example.A" %q %q`, young.Name, old.Name)
	same(t, "who released it", ordered(t, young.Waiting()), `NameLost "com.example.A"`, back)
	same(t, "who has it again", ordered(t, settle(t, old)), back, `NameAcquired "com.example.A"`)
}

// A peer that leaves loses the name it got last first and its unique one last;
// only then are its callers told.
func TestLeavingReleasesNamesLastFirst(t *testing.T) {
	b := start(t, allowAll)
	c, watcher := b.dial(), b.dial()
	must(t, watcher.AddMatch(changes))
	var want []string
	for i := range 5 {
		name := fmt.Sprintf("com.example.N%d", i)
		get(c.RequestName(name, 0))(t)
		want = append(want, fmt.Sprintf("NameOwnerChanged %q %q \"\"", name, c.Name))
	}
	settle(t, watcher)
	get(watcher.Send(wire.Header{Type: wire.MethodCall, Path: "/a", Member: "M", Destination: c.Name}, nil))(t)
	settle(t, watcher)
	c.Close()
	slices.Reverse(want)
	want = append(want, fmt.Sprintf("NameOwnerChanged %q %q \"\"", c.Name, c.Name))
	var got []*client.Message
	for range want {
		got = append(got, next(t, watcher))
	}
	same(t, "the watcher", ordered(t, got), want...)
	if m := next(t, watcher); m.ErrorName != "org.freedesktop.DBus.Error.NoReply" {
		t.Errorf("then came %s", describe(m))
	}
}

func TestRepliesOfRequestAndReleaseName(t *testing.T) {
	b := start(t, allowAll)
	p, q := b.dial(), b.dial()
	for i, step := range []struct {
		who     *client.Conn
		release bool
		flags   uint32
		want    uint32
	}{
		{who: p, want: 1}, {who: p, want: 4},
		{who: q, flags: 4, want: 3}, {who: q, flags: 6, want: 3}, // not to be replaced
		{who: q, release: true, want: 3},
		{who: q, want: 2}, {who: q, want: 2},
		{who: q, flags: 4, want: 3},      // and out of the queue
		{who: q, release: true, want: 3}, // as this shows
		{who: q, want: 2}, {who: q, release: true, want: 1}, {who: q, want: 2},
		{who: p, flags: 1, want: 4}, // its flags are updated
		{who: q, flags: 2, want: 1}, {who: p, release: true, want: 1}, {who: p, flags: 0xfff8 | 4, want: 3},
		{who: q, release: true, want: 1}, {who: q, release: true, want: 2},
	} {
		got := uint32(0)
		if step.release {
			got = get(step.who.ReleaseName("com.example.A"))(t)
		} else {
			got = get(step.who.RequestName("com.example.A", step.flags))(t)
		}
		if got != step.want {
			t.Errorf("step %d: %d, want %d", i, got, step.want)
		}
	}
}

func TestNamesThatNobodyMayHave(t *testing.T) {
	c := start(t, allowAll).dial()
	for _, name := range []string{"", ":1.1", ":1.77", "org.freedesktop.DBus", "x", "a..b", "a.1", "%n%s.%x", strings.Repeat("a.", 128) + "a"} {
		_, err := c.RequestName(name, 0)
		refused(t, err, "InvalidArgs")
		_, err = c.ReleaseName(name)
		refused(t, err, "InvalidArgs")
	}
	if n := get(c.RequestName(strings.Repeat("a.", 127)+"a", 0))(t); n != 1 {
		t.Errorf("a name of 255 bytes: %d", n)
	}
}

// The unique name counts, as in dbus-daemon.
func TestMaxNamesPerConnection(t *testing.T) {
	c := start(t, allowAll+`<limit name="max_names_per_connection">3</limit>`).dial()
	for _, name := range []string{"com.example.A", "com.example.B"} {
		get(c.RequestName(name, 0))(t)
	}
	_, err := c.RequestName("com.example.C", 0)
	refused(t, err, "LimitsExceeded", c.Name, "max_names_per_connection=3")
	get(c.ReleaseName("com.example.A"))(t)
	get(c.RequestName("com.example.C", 0))(t)
}

func TestOwningNeedsPermission(t *testing.T) {
	b := start(t, systemLike+`<policy context="default"><allow own_prefix="com.example.A"/></policy>`)
	c := b.dial()
	for name, allowed := range map[string]bool{"com.example.A": true, "com.example.A.B": true, "com.example.AB": false, "com.example": false} {
		_, err := c.RequestName(name, 0)
		if allowed {
			must(t, err)
			continue
		}
		refused(t, err, "AccessDenied", c.Name, name)
	}
}

func TestQueueOfAName(t *testing.T) {
	b := start(t, allowAll)
	all := []*client.Conn{b.dial(), b.dial(), b.dial(), b.dial()}
	for i, flags := range []uint32{0, 0, 0, 2} { // the last one would replace
		get(all[i].RequestName("com.example.A", flags))(t)
	}
	want := []string{all[0].Name, all[3].Name, all[1].Name, all[2].Name}
	same(t, "the queue", stringList(t, all[0], "ListQueuedOwners", "com.example.A"), want...)
}

// stringList is the answer to a call that returns names.
func stringList(t testing.TB, c *client.Conn, member string, arg ...string) (list []string) {
	t.Helper()
	signature, body := "", client.Write(nil)
	if len(arg) > 0 {
		signature, body = "s", func(e *wire.Encoder) { e.String(arg[0]) }
	}
	d := get(c.Driver(member, signature, body))(t).Values()
	for end := d.Array(4); d.More(end); {
		list = append(list, d.String())
	}
	must(t, d.Err())
	return list
}

func TestListNamesHasEverybody(t *testing.T) {
	b := start(t, allowAll)
	p, q := b.dial(), b.dial()
	get(q.RequestName("com.example.A", 0))(t)
	get(p.RequestName("com.example.A", 0))(t)
	got := stringList(t, p, "ListNames")
	want := []string{wire.BusName, p.Name, q.Name, "com.example.A"}
	slices.Sort(got)
	slices.Sort(want)
	same(t, "the list", got, want...)
	same(t, "the bus's own queue", stringList(t, p, "ListQueuedOwners", wire.BusName), wire.BusName)
	same(t, "a unique name's queue", stringList(t, p, "ListQueuedOwners", q.Name), q.Name)
	if owner := get(p.Owner(wire.BusName))(t); owner != wire.BusName {
		t.Errorf("the bus is owned by %s", owner)
	}
	for _, name := range []string{"com.example.B", "nonsense", ":1.999", ":1.0x", ":1." + strings.Repeat("9", 40), ""} {
		_, err := p.Owner(name)
		refused(t, err, "NameHasNoOwner", name)
		_, err = p.Driver("ListQueuedOwners", "s", func(e *wire.Encoder) { e.String(name) })
		refused(t, err, "NameHasNoOwner", name)
	}
}

// Report 30 (systemd#2136, #12956): after the reply to AddMatch no change is
// missed, and GetNameOwner agrees with the changes so far.
func TestAddMatchIsInOrderWithChanges(t *testing.T) {
	b := start(t, allowAll)
	watcher, flapper := b.dial(), b.dial()
	stop := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 300 && err == nil; i++ {
			if _, err = flapper.RequestName("com.example.A", 0); err == nil {
				_, err = flapper.ReleaseName("com.example.A")
			}
		}
		stop <- err
	}()
	rule := changes + ",arg0='com.example.A'"
	for range 20 {
		must(t, watcher.AddMatch(rule))
		owner, err := watcher.Owner("com.example.A")
		if err != nil {
			owner = ""
		}
		// What came before the answer led to it; what comes behind leads on.
		before := watcher.Waiting()
		if len(before) > 0 && !strings.HasSuffix(describe(before[len(before)-1]), fmt.Sprintf(" %q", owner)) {
			t.Fatalf("the owner is %q, and the last change was %s", owner, describe(before[len(before)-1]))
		}
		must(t, watcher.RemoveMatch(rule))
		for i, m := range watcher.Waiting() {
			if i == 0 && !strings.Contains(describe(m), fmt.Sprintf(`"com.example.A" %q `, owner)) {
				t.Fatalf("the owner was %q, and the next change is %s", owner, describe(m))
			}
		}
	}
	must(t, <-stop)
}
