package bot_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"

	"quartet/kit/journal/disk"
	"quartet/kit/journal/powerloss"
	"quartet/kit/timing"
	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/bot"
	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/cooldown"
	"quartet/services/botd/internal/outbox"
	"quartet/services/botd/internal/said"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

// admin is who may use the admin commands on a stage.
const admin = "00000000-aaaa-4000-8000-000000000001"

// stage is what a bot that talks to a daemon runs on. Its zero fields are a disk
// of its own and the test's log.
type stage struct {
	*daemon
	fs    *powerloss.FS
	log   slog.Handler
	out   outbox.Options
	spill int64
	clock func() time.Time
}

// newStage returns a stage where frames press back, or do not.
func newStage(pressesBack bool) *stage {
	d := newDaemon()
	d.pressesBack = pressesBack
	return &stage{daemon: d, fs: powerloss.New(), spill: spillBytes}
}

// start starts a bot there with commands, and with those that admins have. What
// an earlier one left is on the disk.
func (s *stage) start(t *testing.T, o bot.Options, commands ...*command.Command) *rig {
	t.Helper()
	o.Admins = append(o.Admins, admin)
	if s.log == nil {
		s.log = slog.NewTextHandler(t.Output(), nil)
	}
	var b *bot.Bot // set before the first command is used
	return s.startWith(t, o, func(p bot.Parts) []*command.Command {
		ours := []*command.Command{
			command.Ja(said.Polish, "!zapomnij"),
			command.Dopusc(said.Polish, func(group string) error { return b.Allow(group) }),
			command.Opusc(said.Polish, p.Rules.Forbid, s.Leave),
			command.Ignoruj(said.Polish, func(m asked.Mention) bool { return b.IsAdmin(m.UUID, m.Number) }, p.Rules.Ignore),
			command.Sluchaj(said.Polish, p.Rules.Hear),
			command.Podsluch(said.Polish, "!", func(chat transport.Chat, until time.Time) func() { return b.Debug(chat, until) }),
			command.Status(said.Polish, func(ctx context.Context) said.State { return b.Status(ctx) }),
		}
		return append(ours, commands...)
	}, &b)
}

func (s *stage) startWith(t *testing.T, o bot.Options, commands func(bot.Parts) []*command.Command, b **bot.Bot) *rig {
	t.Helper()
	kept, end := bot.Remember(t, s.fs, "state", s.spill)
	kept.Clock = s.clock
	r := &rig{t: t, reader: metric.NewManualReader(), out: s.out}
	all := commands(kept)
	if b != nil {
		r.onMade = func(made *bot.Bot) { *b = made }
	}
	r.run(kept, s.log, o, func(in *timing.Instruments) transport.Transport {
		s.peer = in.Peer("signal")
		return s.daemon
	}, all...)
	stop := r.stop
	r.stop = sync.OnceFunc(func() {
		stop()
		end()
	})
	t.Cleanup(r.stop)
	return r
}

// startKept starts a bot whose ledger is on a disk.
func startKept(t *testing.T, fs disk.FS, d *daemon, o bot.Options, commands ...*command.Command) *rig {
	t.Helper()
	s := &stage{daemon: d, fs: fs.(*powerloss.FS), spill: spillBytes, log: slog.NewTextHandler(t.Output(), nil)}
	return s.startWith(t, o, func(bot.Parts) []*command.Command { return append(commands, repeat) }, nil)
}

// waits is a gate that a test opens for one passer at a time, or for all.
type waits chan struct{}

func (w waits) pass(ctx context.Context) error {
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		return errors.Join(transport.ErrOutcomeUnknown, ctx.Err())
	}
}

// picture answers with a picture.
func picture(name string, l cooldown.Limits) *command.Command {
	return &command.Command{Name: name, Limits: l, Run: func(context.Context, command.Request) (command.Reply, error) {
		return command.Reply{Picture: &upstream.Picture{ContentType: "image/png", Data: []byte("PNG")}}, nil
	}}
}

// misfit takes a word and then finds that it does not fit.
func misfit(l cooldown.Limits) *command.Command {
	word := asked.Param{Name: "word", Kind: asked.Word}
	return &command.Command{Name: "miasto", Params: []asked.Param{word}, Limits: l,
		Run: func(_ context.Context, r command.Request) (command.Reply, error) {
			return command.Reply{}, fmt.Errorf("look it up: %w", &asked.Misfit{Reason: asked.Unfit, Param: word, Got: r.Args["word"].Text})
		}}
}
