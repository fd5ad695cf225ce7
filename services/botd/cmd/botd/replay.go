package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"quartet/kit/journal/disk"
	"quartet/kit/telemetry"
	"quartet/kit/timing"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/config"
	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// replay runs recorded frames through the bot, one after another, and prints
// what it would answer. It sends nothing, remembers nothing, and takes the
// frames' own clock for its.
func replay(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%w: botd replay takes one file of frames, or - for what comes in, see botd help", errUsage)
	}
	cfg, err := config.Parse(environ)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	cfg.StateDir, cfg.PictureBurst, cfg.CatPool = "", 0, 0
	cfg.MaxAge = math.MaxInt64 // what is recorded is old
	in := stdin
	if args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	meters := noop.NewMeterProvider()
	instruments, err := timing.New(meters, nil)
	if err != nil {
		return err
	}
	counters, err := bot.NewCounters(meters)
	if err != nil {
		return err
	}
	kept, err := openState(disk.OS{}, cfg, instruments)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	t := &tape{in: in, out: stdout, end: stop}
	log := telemetry.Logger(stderr, max(cfg.LogLevel, slog.LevelWarn), "botd", version())
	w, err := build(cfg, t, kept, instruments, counters, log, true)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	t.idle, w.bot.Clock = w.bot.Idle, t.clock
	return errors.Join(w.bot.Run(ctx), t.err)
}

// tape is a server that plays frames and prints what is sent.
type tape struct {
	in   io.Reader
	out  io.Writer
	end  func()                      // ends the bot
	idle func(context.Context) error // waits until all is answered
	err  error                       // why the tape was not played to its end; owned by Receive

	mu  sync.Mutex
	now time.Time // of the frame that is played; guarded by mu, as is out
}

func (t *tape) Traits() transport.Traits { return transport.Traits{PressesBack: true} }

func (t *tape) Receive(ctx context.Context, to transport.Receiver) error {
	to.Open()
	t.err = t.play(ctx, to)
	t.end()
	<-ctx.Done()
	return ctx.Err()
}

func (t *tape) play(ctx context.Context, to transport.Receiver) error {
	lines := bufio.NewScanner(t.in)
	lines.Buffer(nil, transport.MaxFrame)
	for n := 1; lines.Scan(); n++ {
		raw := lines.Bytes()
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		if l, err := transport.ParseLine(raw); err == nil {
			if frame, _, ok := l.Frame(); ok {
				raw = frame // as JSON-RPC brings it
			}
		}
		t.show(n, raw)
		to.Frame(ctx, raw)
		if err := t.idle(ctx); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the frames: %w", err)
	}
	return nil
}

// show prints a frame, and turns the clock to it.
func (t *tape) show(n int, raw []byte) {
	in, err := envelope.Parse(raw)
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := max(in.ServerTime, in.Timestamp); at > 0 {
		t.now = time.UnixMilli(at)
	}
	switch {
	case err != nil:
		fmt.Fprintf(t.out, "%d: no frame: %v\n", n, err)
	case in.Text != "":
		fmt.Fprintf(t.out, "%d: %s (%s) in %s: %s\n", n, in.Name, in.Sender, place(&in), in.Text)
	default:
		fmt.Fprintf(t.out, "%d: %s\n", n, in.Kind)
	}
}

func place(in *envelope.Message) string {
	if in.GroupID != "" {
		return "group " + in.GroupID
	}
	return "a direct chat"
}

func (t *tape) clock() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// Send prints what would be sent.
func (t *tape) Send(_ context.Context, o transport.Outgoing) (transport.Receipt, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ReplaceAll(o.Text, "\n", "\n   ")
	if o.Attachment != nil {
		text += " [" + o.Attachment.Filename + "]"
	}
	_, err := fmt.Fprintf(t.out, "=> %s\n", text)
	return transport.Receipt{}, err
}

func (t *tape) React(_ context.Context, r transport.Reaction) error { return t.note("reacts", r.Emoji) }

func (t *tape) Typing(context.Context, transport.Chat, bool) error { return t.note("types", "") }

func (t *tape) Leave(_ context.Context, group string) error { return t.note("leaves", group) }

func (t *tape) Trust(_ context.Context, who string) error { return t.note("trusts", who) }

func (t *tape) SetProfile(_ context.Context, p transport.Profile) error {
	return t.note("calls itself", p.Name)
}

func (t *tape) DeleteAttachment(_ context.Context, id string) error { return t.note("deletes", id) }

func (t *tape) Check(context.Context) ([]transport.Warning, error) { return nil, nil }

func (t *tape) note(what, whom string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := fmt.Fprintf(t.out, "=> %s\n", strings.TrimSpace("("+what+" "+whom)+")")
	return err
}
