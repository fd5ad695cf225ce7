package weatherbus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"quartet/sim/internal/latency"
)

const (
	look     = 200 * time.Millisecond // how often to see whether strangers are wanted
	stalled  = 16                     // messages that a stranger has itself sent and does not read
	stalling = 64 << 10               // bytes of each
)

// strangers come as the quirks say, until ctx ends.
func (p *Play) strangers(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for latency.Sleep(ctx, look) == nil {
		for name, behave := range map[string]func(context.Context, net.Conn) error{"stall": p.stall, "nonsense": p.nonsense} {
			for range 100 { // of a count that never runs out
				if !p.o.Quirks.Take(name) {
					break
				}
				p.counts.strangers.Add(1)
				wg.Go(func() {
					if err := p.stranger(ctx, behave); err != nil && ctx.Err() == nil {
						p.o.Log.Info("a stranger left", slog.String("quirk", name), slog.Any("err", err))
					}
				})
			}
		}
	}
}

// stranger joins the bus by hand, so that it need not behave.
func (p *Play) stranger(ctx context.Context, behave func(context.Context, net.Conn) error) error {
	path, ok := strings.CutPrefix(p.o.Bus, "unix:path=")
	if !ok {
		return fmt.Errorf("strangers know unix:path= only, not %s", p.o.Bus)
	}
	path, _, _ = strings.Cut(path, ",")
	path, err := dbus.UnescapeBusAddressValue(path)
	if err != nil {
		return err
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := io.WriteString(c, "\x00AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"); err != nil {
		return err
	}
	answers := bufio.NewReader(c)
	for range 2 { // DATA, OK
		if _, err := answers.ReadString('\n'); err != nil {
			return err
		}
	}
	if err := send(c, call("Hello")); err != nil {
		return err
	}
	return behave(ctx, c)
}

// stall subscribes to its own signals, sends many, and reads none.
func (p *Play) stall(ctx context.Context, c net.Conn) error {
	const member = "Stalled"
	if err := send(c, call("AddMatch", fmt.Sprintf("type='signal',interface='%s',member='%s'", Interface, member))); err != nil {
		return err
	}
	m := &dbus.Message{Type: dbus.TypeSignal, Body: []any{make([]byte, stalling)}, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldPath: dbus.MakeVariant(Path), dbus.FieldInterface: dbus.MakeVariant(Interface), dbus.FieldMember: dbus.MakeVariant(member),
	}}
	for range stalled {
		if err := send(c, m); err != nil {
			return err
		}
	}
	return latency.Sleep(ctx, p.o.Quirks.Duration("stall_for"))
}

// nonsense sends what is no message, and waits to be thrown out.
func (p *Play) nonsense(_ context.Context, c net.Conn) error {
	if _, err := c.Write(bytes.Repeat([]byte{'?'}, 64)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, c)
	return errors.Join(errors.New("thrown out"), err)
}

func call(member string, args ...any) *dbus.Message {
	return &dbus.Message{Type: dbus.TypeMethodCall, Body: args, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldDestination: dbus.MakeVariant("org.freedesktop.DBus"), dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/DBus")),
		dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.DBus"), dbus.FieldMember: dbus.MakeVariant(member),
	}}
}

// serialAt is where a message's serial is; the library sets it only for those
// that it sends itself.
const serialAt = 8

func send(c net.Conn, m *dbus.Message) error {
	if len(m.Body) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(m.Body...))
	}
	var b bytes.Buffer
	if err := m.EncodeTo(&b, binary.LittleEndian); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b.Bytes()[serialAt:], 1)
	_, err := c.Write(b.Bytes())
	return err
}
