package bot

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"quartet/services/botd/internal/envelope"
)

// dropReason says why a frame addressed to the bot got no answer.
type dropReason string

const (
	dropMalformed      dropReason = "malformed"       // not JSON of the expected shape
	dropTooLong        dropReason = "too_long"        // over the bound of one frame
	dropForeignAccount dropReason = "foreign_account" // for another number of the same server
	dropNoSender       dropReason = "no_sender"       // nobody to answer
	dropOwn            dropReason = "own"             // our own words came back, or somebody claims to be us
	dropBacklogFull    dropReason = "backlog_full"    // more waits than the backlog may weigh
	dropSenderBusy     dropReason = "sender_busy"     // too many of one person wait
	dropUnknownCommand dropReason = "unknown_command" // no such command
	dropShutdown       dropReason = "shutdown"        // the drain time-out was over first
)

// Counters count what botd alone counts; requests are counted by their timing.
type Counters struct {
	frames  metric.Int64Counter
	dropped metric.Int64Counter
	gaps    metric.Float64Counter
	kinds   map[envelope.Kind]metric.AddOption
	reasons map[dropReason]metric.AddOption
}

// NewCounters makes the counters:
//
//	quartet.botd.frames       {frame} by kind: everything that was read
//	quartet.botd.dropped      {frame} by reason: addressed to the bot and not answered
//	quartet.botd.receive.gap  s: time in which frames may have been lost unseen
func NewCounters(mp metric.MeterProvider) (*Counters, error) {
	m := mp.Meter("quartet/services/botd")
	c := &Counters{kinds: make(map[envelope.Kind]metric.AddOption), reasons: make(map[dropReason]metric.AddOption)}
	var err error
	if c.frames, err = m.Int64Counter("quartet.botd.frames", metric.WithUnit("{frame}"),
		metric.WithDescription("Frames read from Signal, by kind.")); err != nil {
		return nil, err
	}
	if c.dropped, err = m.Int64Counter("quartet.botd.dropped", metric.WithUnit("{frame}"),
		metric.WithDescription("Frames that could have been for the bot and got no answer, by reason.")); err != nil {
		return nil, err
	}
	if c.gaps, err = m.Float64Counter("quartet.botd.receive.gap", metric.WithUnit("s"),
		metric.WithDescription("Time without a websocket, in which frames may have been lost.")); err != nil {
		return nil, err
	}
	for _, k := range envelope.Kinds() {
		c.kinds[k] = metric.WithAttributeSet(attribute.NewSet(attribute.String("kind", string(k))))
	}
	for _, r := range []dropReason{dropMalformed, dropTooLong, dropForeignAccount, dropNoSender, dropOwn,
		dropBacklogFull, dropSenderBusy, dropUnknownCommand, dropShutdown} {
		c.reasons[r] = metric.WithAttributeSet(attribute.NewSet(attribute.String("reason", string(r))))
		c.dropped.Add(context.Background(), 0, c.reasons[r]) // so that an alert sees the first one as an increase
	}
	return c, nil
}

func (c *Counters) frame(ctx context.Context, k envelope.Kind) { c.frames.Add(ctx, 1, c.kinds[k]) }

func (c *Counters) drop(ctx context.Context, r dropReason) { c.dropped.Add(ctx, 1, c.reasons[r]) }

func (c *Counters) gap(ctx context.Context, d time.Duration) { c.gaps.Add(ctx, d.Seconds()) }
