package differential_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/buses"
)

// A stage is a bus on which sessions are played, one after the other.
type stage struct {
	bus     *buses.Bus
	control *conn // tells when the bus has noticed something; in no transcript
}

func newStage(b *buses.Bus) (*stage, error) {
	c, err := dial(b.Address)
	if err != nil {
		return nil, err
	}
	s := &stage{bus: b, control: c}
	if err := c.open(true, true, false); err != nil {
		return nil, err
	}
	return s, s.ask()
}

// ask is a round trip of the control connection. What comes beside the answer
// is nobody's concern.
func (s *stage) ask() error {
	err := s.control.settle(nil)
	if s.control.ended {
		err = errors.New("the bus has hung up on the control connection")
	}
	if err == nil {
		err = s.control.learn()
	}
	s.control.got = nil
	return err
}

// flushed waits until the bus has sent all that it had to, monitors too: it has
// sent everything of a turn before it answers in a later one.
func (s *stage) flushed() error {
	return errors.Join(s.ask(), s.ask())
}

// open authenticates, and with hello becomes a member of the bus. With steps it
// waits for each answer, as old libraries do.
func (c *conn) open(fds, hello, steps bool) error {
	c.passes = fds
	lines := []string{"\x00AUTH EXTERNAL " + hex.EncodeToString([]byte(strconv.Itoa(os.Getuid())))}
	if fds {
		lines = append(lines, "NEGOTIATE_UNIX_FD")
	}
	want := []string{"OK ", "AGREE_UNIX_FD"}[:len(lines)]
	for _, part := range pipelined(lines, steps) {
		if err := c.send([]byte(part)); err != nil {
			return err
		}
		for range strings.Count(part, "\r\n") {
			line, err := c.line()
			if err != nil {
				return fmt.Errorf("authenticate: %w", err)
			}
			if !strings.HasPrefix(line, want[0]) {
				return fmt.Errorf("authenticate: the bus answered %q", line)
			}
			want = want[1:]
		}
	}
	begin := []byte("BEGIN\r\n")
	if hello {
		c.serial++
		m := driver("Hello")
		begin = append(begin, m.bytes(c.serial, nil)...)
	}
	return c.send(begin)
}

func pipelined(lines []string, steps bool) []string {
	if !steps {
		return []string{strings.Join(lines, "\r\n") + "\r\n"}
	}
	for i := range lines {
		lines[i] += "\r\n"
	}
	return lines
}

// A play is one session on one bus.
type play struct {
	stage *stage
	began time.Time // when the oldest call was made that may still wait, or before
	slow  bool      // some may have come to their time limit unintended
	conns []*conn
	asked map[string]string // members of calls, by who has made them and their serials
}

// perform does all steps, and returns what each connection has received. The
// bus is as it was before when it returns. Where calls have a time limit the
// error is errLate when the machine was too slow for it.
func (s *stage) perform(steps []step, sleeps bool) (t transcript, err error) {
	p := &play{stage: s, began: time.Now(), asked: map[string]string{}}
	defer p.end()
	defer func() {
		if bad := recover(); bad != nil {
			err = fmt.Errorf("the bus has sent what is no message: %v\n%s", bad, debug.Stack())
		}
	}()
	for i, step := range steps {
		if err := p.do(step); err != nil {
			return nil, fmt.Errorf("step %d (%v): %w", i, step, err)
		}
	}
	for _, c := range p.conns {
		if c.live() && !c.monitor {
			if err := c.settle(nil); err != nil {
				return nil, fmt.Errorf("at the end: %w", err)
			}
		}
	}
	if err := s.flushed(); err != nil {
		return nil, err
	}
	for _, c := range p.conns {
		if err := c.drain(); err != nil {
			return nil, err
		}
	}
	if sleeps && (p.slow || p.late()) {
		err = errLate
	}
	return p.transcript(), errors.Join(p.cleared(), err)
}

// errLate is that calls may have run into their time limit that should not.
var errLate = errors.New("the session took longer than calls may go unanswered")

func (p *play) late() bool { return time.Since(p.began) >= limit }

func (p *play) end() {
	for _, c := range p.conns {
		c.close()
	}
}

// cleared closes all connections and waits until the bus has noticed.
func (p *play) cleared() error {
	p.end()
	return p.stage.until(func(e *event) bool {
		return len(e.body) == 1 && !slices.ContainsFunc(e.body[0].in, func(v value) bool {
			return v.s != busName && v.s != p.stage.control.name && v.s[0] == ':'
		})
	}, driver("ListNames"))
}

// until asks the bus until the answer is as expected.
func (s *stage) until(expected func(*event) bool, question message) error {
	c := s.control
	for end := time.Now().Add(patience); time.Now().Before(end); {
		c.serial++
		serial, found := c.serial, false
		if err := c.send(question.bytes(serial, nil)); err != nil {
			return err
		}
		err := c.until(func(e *event) bool {
			answers := c.answer(e, serial)
			found = answers && expected(e)
			return answers
		})
		c.got = nil
		if found || err != nil {
			return err
		}
		if c.ended {
			break
		}
	}
	return fmt.Errorf("the bus does not get to where it should: asked %v", question)
}

func (p *play) do(s step) error {
	if s.deed == connects {
		return p.connect(s)
	}
	c := p.conns[s.who]
	if !c.live() {
		return nil
	}
	var err error
	switch s.deed {
	case says:
		err = p.say(c, s)
	case replies:
		err = p.reply(c, s)
	case spoils:
		c.serial++
		p.note(s.who, c.serial, s.messages[0].get(fieldMember))
		b := s.messages[0].bytes(c.serial, func(string) string { return ":1.999999" })
		if s.spoil != nil {
			b = s.spoil(b)
		}
		err = c.settle(b)
	case watches:
		err = p.watch(c, s)
	case leaves:
		err = p.stage.flushed()
		c.drainAll()
		c.close()
	case oversleeps:
		p.slow = p.slow || p.late()
		time.Sleep(limit + limit/2)
		p.began = time.Now()
	}
	if err != nil {
		return err
	}
	return p.noticed(c)
}

// noticed waits, when c has ended, until the bus has told all others.
func (p *play) noticed(c *conn) error {
	if c.live() || !c.hello || c.monitor {
		return nil
	}
	return p.stage.until(func(e *event) bool { return len(e.body) == 1 && e.body[0].n == 0 }, driver("NameHasOwner", text(c.name)))
}

func (p *play) connect(s step) error {
	c, err := dial(p.stage.bus.Address)
	if err != nil {
		return err
	}
	p.conns = append(p.conns, c)
	if err := c.open(s.fds, s.hello, s.pieces); err != nil {
		return err
	}
	if !s.hello {
		return nil
	}
	p.note(len(p.conns)-1, c.serial, "Hello")
	if err := c.settle(nil); err != nil {
		return err
	}
	return c.learn()
}

// learn takes the unique name out of the answer to Hello. Who has one adds a
// rule that matches nothing: dbus-daemon forgets the rules of others about a
// connection that leaves, but only if that has rules itself.
func (c *conn) learn() error {
	for _, e := range c.got {
		if !c.hello && e.kind == answer && e.fromBus() && len(e.body) == 1 && strings.HasPrefix(e.body[0].s, ":1.") {
			c.name, c.hello = e.body[0].s, true
			c.marks++
			m := driver("AddMatch", text("type='error',member='Never'"))
			return c.settle(m.bytes(marker+c.marks, nil))
		}
	}
	return nil
}

// toNobody marks calls without destination among those that were made.
const toNobody = "nobody's "

func (p *play) note(who int, serial uint32, member string) {
	p.asked[fmt.Sprint(who, " ", serial)] = member
}

// name writes the unique names into a text.
func (p *play) name(s string) string {
	for i, c := range p.conns {
		name := c.name
		if name == "" {
			name = ":1.999999"
		}
		s = strings.ReplaceAll(s, fmt.Sprintf("<%d>", i), name)
	}
	return unmade.ReplaceAllString(s, ":1.888888")
}

// unmade stands for connections that are not there yet.
var unmade = regexp.MustCompile(`<[0-9]>`)

// say sends all messages at once, but before Hello one after the other: then
// most end the connection, and what dbus-daemon has read behind such a one it
// still shows to monitors, or does, if it was Hello.
func (p *play) say(c *conn, s step) error {
	if !c.hello && len(s.messages) > 1 {
		for _, m := range s.messages {
			if err := p.say(c, step{messages: []message{m}, pieces: s.pieces}); err != nil || !c.live() {
				return err
			}
		}
		return nil
	}
	var b []byte
	var fds []int
	who := slices.Index(p.conns, c)
	for i, m := range s.messages {
		if (!c.hello || c.monitor) && m.kind != signal && m.get(fieldDestination) == "" {
			continue // dbus-daemon's library answers or ignores that of everybody; busd hangs up
		}
		serial := m.serial
		if serial == 0 {
			c.serial++
			serial = c.serial
		}
		if m.kind == call && (m.serial == 0 || m.get(fieldDestination) == busName) {
			member := m.get(fieldMember)
			if m.get(fieldDestination) == "" {
				member = toNobody + member
			}
			p.note(who, serial, member)
		}
		if m.fds > 0 && i > 0 { // descriptors go with the first byte of their message
			if err := c.before(b, fds, m.fds); err != nil {
				return err
			}
			b, fds = nil, nil
		}
		fds = append(fds, files[:m.fds]...)
		b = append(b, m.bytes(serial, p.name)...)
		if m.reloads() && c.hello {
			if err := c.reload(b, fds...); err != nil {
				return err
			}
			b, fds = nil, nil
		}
	}
	if len(b) > 0 && (s.pieces || len(fds) > 0) {
		half := 1 + len(b)/2
		if err := c.send(b[:half], fds...); err != nil {
			return err
		}
		b = b[half:]
	}
	if err := c.settle(b); err != nil {
		return err
	}
	return c.learn()
}

// before sends what comes before a message with n descriptors. Where these may
// not be sent, or are too many, a bus hangs up as soon as it sees them, which
// may be before it has handled that.
func (c *conn) before(b []byte, fds []int, n int) error {
	if err := c.send(b, fds...); err != nil || c.passes && n <= maxFDs {
		return err
	}
	return c.settle(nil)
}

// reloads says whether the configuration is to be read anew.
func (s step) reloads() bool {
	return slices.ContainsFunc(s.messages, func(m message) bool { return m.reloads() })
}

func (m *message) reloads() bool {
	return m.kind == call && m.get(fieldDestination) == busName && m.get(fieldMember) == "ReloadConfig"
}

// reload sends ReloadConfig, and another one whose answer shows that it was
// obeyed: until then busd answers what it can, and what is for a name that may
// be a service soon waits.
func (c *conn) reload(b []byte, fds ...int) error {
	c.marks++
	serial := uint32(marker) + c.marks
	m := driver("ReloadConfig")
	if err := c.send(append(b, m.bytes(serial, nil)...), fds...); err != nil {
		return err
	}
	return c.until(func(e *event) bool { return c.answer(e, serial) })
}

// reply answers one of the calls that c has received.
func (p *play) reply(c *conn, s step) error {
	if c.monitor || !c.hello {
		return nil
	}
	if err := c.settle(nil); err != nil {
		return err
	}
	for ; c.seen < len(c.got); c.seen++ {
		if e := c.got[c.seen]; e.kind == call && e.flags&noReply == 0 && e.text(fieldDestination) != busName {
			c.calls = append(c.calls, e)
		}
	}
	m := s.messages[0]
	m.fields = slices.Clone(m.fields)
	switch {
	case s.pick == -2:
	case s.pick == -1 && len(c.answered) > 0:
		m.answer(c.answered[0])
	case s.pick >= 0 && len(c.calls) > 0:
		i := s.pick % len(c.calls)
		m.answer(c.calls[i])
		c.answered = append(c.answered, c.calls[i])
		c.calls = slices.Delete(c.calls, i, i+1)
	default:
		return nil
	}
	return p.say(c, step{messages: []message{m}, pieces: s.pieces})
}

func (m *message) answer(e *event) {
	m.field(fieldDestination, e.text(fieldSender))
	m.number(fieldReplySerial, e.serial)
}

// watch becomes a monitor. One may not send any more, so nothing is asked
// behind the call but when it was refused.
func (p *play) watch(c *conn, s step) error {
	if !c.hello {
		return p.say(c, s)
	}
	c.serial++
	serial := c.serial
	p.note(slices.Index(p.conns, c), serial, "BecomeMonitor")
	if err := c.send(s.messages[0].bytes(serial, p.name)); err != nil {
		return err
	}
	err := c.until(func(e *event) bool {
		answers := c.answer(e, serial)
		c.monitor = c.monitor || answers && e.kind == answer
		return answers
	})
	if err != nil || c.monitor {
		return err
	}
	return c.settle(nil)
}

func (c *conn) drainAll() {
	// What it has received until here is part of the transcript.
	if c.live() && !c.monitor {
		_ = c.settle(nil) // that it fails shows in the next step
	}
	_ = c.drain()
}

// files are what is passed along: the same ones to every bus, so that it shows
// which has arrived.
var files = func() (fds [4]int) {
	for i := range fds {
		fd, err := unix.MemfdCreate(fmt.Sprintf("passed-%d", i), unix.MFD_CLOEXEC)
		if err != nil {
			panic(err)
		}
		fds[i] = fd
	}
	return fds
}()
