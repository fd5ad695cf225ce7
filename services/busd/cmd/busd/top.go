package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

// every is how often top looks.
const every = time.Second

// top shows who is connected to a bus and what waits for whom: again and again
// on a terminal, else once.
func top(ctx context.Context, args []string, stdout io.Writer) error {
	address, err := oneAddress("top", args)
	if err != nil {
		return err
	}
	c, err := client.Connect(address, 0)
	if err != nil {
		return err
	}
	defer c.Close()
	// Whoever has seen enough does not wait for a bus that does not answer.
	defer context.AfterFunc(ctx, func() { _ = c.Shutdown(unix.SHUT_RDWR) })()
	if err = c.LogIn(client.Options{}); err != nil {
		err = fmt.Errorf("connect to %s: %w", address, err)
	} else {
		err = show(ctx, c, stdout)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// show shows a bus until ctx ends, or where that is no terminal once.
func show(ctx context.Context, c *client.Conn, stdout io.Writer) error {
	rows, columns := terminal(stdout)
	var before *look
	for {
		now, err := lookAt(c)
		if err != nil {
			return err
		}
		var page bytes.Buffer
		now.write(&page, before, rows)
		text := cut([]byte(printable(page.String())), columns)
		if rows > 0 {
			text = append([]byte("\x1b[H\x1b[J"), text...)
		}
		if _, err := stdout.Write(text); err != nil || rows == 0 {
			return err
		}
		before = now
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil
		}
		rows, columns = terminal(stdout)
	}
}

// terminal is how large the terminal is, 0 when it is none.
func terminal(w io.Writer) (rows, columns int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	if size.Row == 0 { // whoever made it has not said
		size.Row = 24
	}
	return max(int(size.Row), 4), int(size.Col)
}

// cut ends lines where the terminal does, if it does: one that it broke would
// push the first ones out of sight.
func cut(page []byte, columns int) []byte {
	if columns <= 0 {
		return page
	}
	var all []byte
	for line := range bytes.Lines(page) {
		if runes := []rune(string(line)); len(runes) > columns+1 { // and its end
			line = []byte(string(runes[:columns]) + "\n")
		}
		all = append(all, line...)
	}
	return all
}

// printable replaces what a terminal would obey in a text that others have a
// hand in, but for the ends of lines.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar // as for bytes that are no UTF-8
	}, text)
}

// look is a bus at one moment.
type look struct {
	at    time.Time
	bus   counts
	peers []peer
}

// counts are numbers by the names that Debug.Stats gives them.
type counts map[string]uint32

type peer struct {
	name, owns, program string
	counts              counts
}

func lookAt(c *client.Conn) (*look, error) {
	defer c.Waiting() // whatever others send us is for nobody
	l := &look{at: time.Now()}
	var err error
	if l.bus, err = stats(c, "GetStats", ""); err != nil {
		hint := ""
		if _, is := errors.AsType[*client.Error](err); is { // the bus has said no, and not gone away
			hint = " (the configuration has to allow org.freedesktop.DBus.Debug.Stats)"
		}
		return nil, fmt.Errorf("ask the bus for its statistics%s: %w", hint, err)
	}
	names, err := listNames(c)
	if err != nil {
		return nil, err
	}
	owns, err := owners(c, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name[0] != ':' {
			continue
		}
		p := peer{name: name, owns: strings.Join(owns[name], ","), program: program(c, name)}
		p.counts, err = stats(c, "GetConnectionStats", name)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		l.peers = append(l.peers, p)
	}
	return l, nil
}

// gone says whether an error means that a peer has left meanwhile.
func gone(err error) bool {
	failed, is := errors.AsType[*client.Error](err)
	return is && strings.HasSuffix(failed.Name, ".NameHasNoOwner")
}

// owners are the well-known names of each peer.
func owners(c *client.Conn, names []string) (map[string][]string, error) {
	owns := map[string][]string{}
	for _, name := range names {
		if name[0] == ':' || name == wire.BusName {
			continue
		}
		owner, err := c.Owner(name)
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		owns[owner] = append(owns[owner], name)
	}
	return owns, nil
}

// program is the command of a peer's process, as far as it can be seen.
func program(c *client.Conn, name string) string {
	reply, err := callAbout(c, wire.BusName, "GetConnectionUnixProcessID", name)
	if err != nil {
		return "-"
	}
	values := reply.Values()
	pid := strconv.FormatUint(uint64(values.Uint32()), 10)
	comm, err := os.ReadFile("/proc/" + pid + "/comm")
	if err != nil {
		return pid
	}
	return pid + " " + strings.Join(strings.Fields(string(comm)), " ") // a line
}

// write writes the look as a page, which ends after so many rows, if that is
// not 0. The peers for whom most waits come first.
func (l *look) write(out io.Writer, before *look, rows int) {
	fmt.Fprintf(out, "%d connections, %d names, %d rules, %d calls await a reply, %d B wait%s\n\n", l.bus["ActiveConnections"], l.bus["BusNames"],
		l.bus["MatchRules"], l.bus["PendingReplies"], l.bus["OutgoingBytes"], l.rates(before))
	fmt.Fprintf(out, "%-8s %10s %4s %10s %4s %7s %6s %6s  %-24s %s\n", "PEER", "QUEUE B", "FDS", "INPUT B", "FDS", "REPLIES", "RULES", "NAMES", "PROGRAM", "OWNS")
	peers := slices.Clone(l.peers)
	slices.SortStableFunc(peers, func(a, b peer) int {
		return cmp.Or(cmp.Compare(b.counts["OutgoingBytes"], a.counts["OutgoingBytes"]), cmp.Compare(b.counts["IncomingBytes"], a.counts["IncomingBytes"]),
			cmp.Compare(b.counts["MatchRules"], a.counts["MatchRules"]))
	})
	const around = 4 // lines that are no peer's
	if rows > 0 && len(peers) > rows-around {
		peers = peers[:max(rows-around, 0)]
	}
	for _, p := range peers {
		n := p.counts
		fmt.Fprintf(out, "%-8s %10d %4d %10d %4d %7d %6d %6d  %-24s %s\n", p.name, n["OutgoingBytes"], n["OutgoingFDs"], n["IncomingBytes"], n["IncomingFDs"],
			n["PendingReplies"], n["MatchRules"], n["BusNames"], p.program, p.owns)
	}
}

// rates are how fast the bus's counters grow, those that it has.
func (l *look) rates(before *look) string {
	if before == nil {
		return ""
	}
	seconds := l.at.Sub(before.at).Seconds()
	var b strings.Builder
	for _, each := range []struct{ name, unit string }{{"Messages", "messages/s"}, {"ReceivedBytes", "B/s in"}, {"SentBytes", "B/s out"}} {
		if now, has := l.bus[each.name]; has {
			grown := now - before.bus[each.name] // counters of 32 bits go around
			fmt.Fprintf(&b, ", %.0f %s", float64(grown)/seconds, each.unit)
		}
	}
	return b.String()
}
