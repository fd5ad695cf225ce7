// Package outbox is what stands between a reply and Signal. It knows what
// Signal puts up with, so that the bot need not:
//
//	order.go    messages to one chat go out one after another
//	gate.go     none go out while Signal wants none, or our account is gone
//	parked.go   none go to a chat that cannot be written to
//	pictures.go an account may upload only so many pictures
//	repair.go   one more try, where a refusal says what would help
//	sent.go     what went out, to know it when it comes back
//
// What may have arrived is never sent again here.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"quartet/kit/lockmap"
	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

// Options are what an operator can set.
type Options struct {
	Trust        bool              // take a recipient's new key as theirs
	Profile      transport.Profile // what our account is called, if it has no name yet; "" leaves it
	RatePause    time.Duration     // how long nothing goes out after Signal limited the rate; it doubles while that goes on
	PictureBurst int               // pictures that may go out at once; 0 is without a bound
	PictureEvery time.Duration     // how long until one more may
}

// Parts are what an Outbox is put together from.
type Parts struct {
	Signal    transport.Sender
	OnRefused func(ctx context.Context, class transport.Class) // counts
	OnWait    func(time.Duration)                              // that a message waited for the one before it to its chat
	Shrink    func(context.Context, upstream.Picture) (upstream.Picture, error)
	Log       *slog.Logger
}

// Outbox is safe for concurrent use.
type Outbox struct {
	Parts
	options  Options
	chats    *lockmap.Map[transport.Chat]
	gate     gate
	parked   parked
	pictures bucket
	sent     *sent
}

// New returns an outbox through which everything may go.
func New(p Parts, o Options) *Outbox {
	return &Outbox{
		Parts:    p,
		options:  o,
		chats:    lockmap.New[transport.Chat]("botd.chats", lockmap.Options{OnWait: p.OnWait}),
		pictures: bucket{size: o.PictureBurst, every: o.PictureEvery},
		sent:     newSent(),
		gate:     gate{first: o.RatePause},
	}
}

// ErrUnreachable marks what did not go out because nobody was there to take it.
// The gate is closed then until the server is back.
var ErrUnreachable = errors.New("the server cannot be reached")

// Send sends one message; the caller has its chat's turn. Errors are those of
// transport.Sender. A refusal that more than one message is about closes the
// gate or parks the chat, and one that can be mended is mended and tried once
// more, which only happens to what certainly did not arrive.
func (o *Outbox) Send(ctx context.Context, out transport.Outgoing) (transport.Receipt, error) {
	receipt, err := o.try(ctx, out)
	if refused, ok := errors.AsType[*transport.Error](err); ok && o.repair(ctx, &out, refused) {
		receipt, err = o.try(ctx, out)
	}
	return receipt, err
}

func (o *Outbox) try(ctx context.Context, out transport.Outgoing) (transport.Receipt, error) {
	receipt, err := o.Signal.Send(ctx, out)
	if err == nil {
		o.gate.well()
		o.Unpark(out.Chat)
		o.sent.add(receipt.Timestamp, out.Chat, out.Text)
		return receipt, nil
	}
	if refused, ok := errors.AsType[*transport.Error](err); ok {
		o.OnRefused(ctx, refused.Class)
		o.follow(ctx, out.Chat, refused)
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && ctx.Err() == nil {
		o.gate.lose(time.Now().Add(accountPause), "Signal's server cannot be reached")
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return receipt, err
}

// follow does what a refusal asks for beyond the message that it is about.
func (o *Outbox) follow(ctx context.Context, chat transport.Chat, refused *transport.Error) {
	now, action := time.Now(), refused.Action()
	switch {
	case action.Unready:
		o.gate.lose(now.Add(accountPause), "our account is not there")
	case action.Pause:
		if until, closed := o.gate.limit(now, refused.RetryAfter); closed {
			o.Log.LogAttrs(ctx, slog.LevelError, "Signal wants no messages for a while; where there is a challenge, solve its captcha and send SIGHUP",
				slog.Time("until", until), slog.Any("challenges", refused.Challenges), slog.Any("err", refused))
		}
	case action.ParkChat:
		o.parked.park(chat, now)
	}
}
