package bot

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// dropReason says why a frame addressed to the bot got no answer.
type dropReason string

const (
	dropMalformed      dropReason = "malformed"       // not JSON of the expected shape
	dropForeignAccount dropReason = "foreign_account" // for another number of the same server, or for ours of an earlier run
	dropNoSender       dropReason = "no_sender"       // nobody to answer
	dropOwn            dropReason = "own"             // our own words came back, or somebody claims to be us
	dropBacklogFull    dropReason = "backlog_full"    // more waits than the backlog may weigh
	dropSenderBusy     dropReason = "sender_busy"     // too many of one person wait
	dropUnknownCommand dropReason = "unknown_command" // no such command
	dropDuplicate      dropReason = "duplicate"       // it came before
	dropNotKept        dropReason = "not_kept"        // the ledger could not be written
	dropStale          dropReason = "stale"           // too old for anybody to wait for the answer
	dropLateEdit       dropReason = "late_edit"       // edited into a command too long after it was sent
	dropDeleted        dropReason = "deleted"         // its author took it back before it was answered
	dropIgnored        dropReason = "ignored"         // an admin has the bot ignore its author
	dropNotDirect      dropReason = "not_direct"      // written to the bot itself, which answers in groups only
	dropUnknownGroup   dropReason = "unknown_group"   // from a group that was not allowed
	dropChatParked     dropReason = "chat_parked"     // from a chat that lately could not be written to
	dropPanic          dropReason = "panic"           // a fault of ours
	dropNotReceiving   dropReason = "not_receiving"   // posted to the webhook before we were ready, or after
	dropShutdown       dropReason = "shutdown"        // the drain time-out was over first
)

// dropReasons lists every reason, with those of the transports.
func dropReasons() []dropReason {
	all := []dropReason{dropMalformed, dropForeignAccount, dropNoSender, dropOwn, dropBacklogFull, dropSenderBusy, dropUnknownCommand, dropDuplicate,
		dropNotKept, dropStale, dropLateEdit,
		dropDeleted, dropIgnored, dropNotDirect, dropUnknownGroup, dropChatParked, dropPanic, dropNotReceiving, dropShutdown}
	for _, r := range transport.Rejects() {
		all = append(all, dropReason(r))
	}
	return all
}

// Counters count what botd alone counts; requests are counted by their timing.
type Counters struct {
	frames   metric.Int64Counter
	dropped  metric.Int64Counter
	refusals metric.Int64Counter
	unknown  metric.Int64Counter
	known    metric.Int64Counter
	posts    metric.Float64Histogram
	kinds    map[envelope.Kind]metric.AddOption
	reasons  map[dropReason]metric.AddOption
	classes  map[transport.Class]metric.AddOption

	link atomic.Pointer[link] // whose gaps are counted; nil before there is a bot

	drops    atomic.Int64 // the same, for !status
	unknowns atomic.Int64

	began time.Time
	last  atomic.Int64 // when the last frame was read, nanoseconds since began
}

// NewCounters makes the counters:
//
//	quartet.botd.frames       {frame} by kind: everything that was read
//	quartet.botd.dropped      {frame} by reason: addressed to the bot and not answered
//	quartet.botd.send.refusals {message} by class: sends that the server refused
//	quartet.botd.send.unknown  {message}: answers that may have arrived or not
//	quartet.botd.send.settled  {message}: of them, those that a receipt showed to have arrived
//	quartet.botd.receive.gap  s: time in which frames may have been lost unseen
//	quartet.botd.receive.silence s: how long no frame has come, whatever the connection says
//	quartet.botd.webhook.answer  s: from the last byte of a post until its answer was written
func NewCounters(mp metric.MeterProvider) (*Counters, error) {
	m := mp.Meter("quartet/services/botd")
	c := &Counters{
		began:   time.Now(),
		kinds:   make(map[envelope.Kind]metric.AddOption),
		reasons: make(map[dropReason]metric.AddOption),
		classes: make(map[transport.Class]metric.AddOption),
	}
	var err error
	if c.frames, err = m.Int64Counter("quartet.botd.frames", metric.WithUnit("{frame}"),
		metric.WithDescription("Frames read from Signal, by kind.")); err != nil {
		return nil, err
	}
	if c.dropped, err = m.Int64Counter("quartet.botd.dropped", metric.WithUnit("{frame}"),
		metric.WithDescription("Frames that could have been for the bot and got no answer, by reason.")); err != nil {
		return nil, err
	}
	if c.refusals, err = m.Int64Counter("quartet.botd.send.refusals", metric.WithUnit("{message}"),
		metric.WithDescription("Messages that the server refused to send, by class of refusal.")); err != nil {
		return nil, err
	}
	if c.unknown, err = m.Int64Counter("quartet.botd.send.unknown", metric.WithUnit("{message}"),
		metric.WithDescription("Answers of which nobody knows whether they arrived. They are not sent again.")); err != nil {
		return nil, err
	}
	if c.known, err = m.Int64Counter("quartet.botd.send.settled", metric.WithUnit("{message}"),
		metric.WithDescription("Answers of which nobody knew whether they arrived, until a receipt showed that they did.")); err != nil {
		return nil, err
	}
	if _, err = m.Float64ObservableCounter("quartet.botd.receive.gap", metric.WithUnit("s"),
		metric.WithDescription("Time without a websocket, in which frames may have been lost."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			if l := c.link.Load(); l != nil {
				o.Observe(l.gaps(time.Now()).Seconds())
			}
			return nil
		})); err != nil {
		return nil, err
	}
	if c.posts, err = m.Float64Histogram("quartet.botd.webhook.answer", metric.WithUnit("s"),
		metric.WithDescription("Time from the last byte of a post to the webhook until its answer was written. The server that posts does nothing else meanwhile."),
		metric.WithExplicitBucketBoundaries(postBounds...)); err != nil {
		return nil, err
	}
	if _, err = m.Float64ObservableGauge("quartet.botd.receive.silence", metric.WithUnit("s"),
		metric.WithDescription("Time since the last frame was read. Too long for a lively group means that nothing comes over a connection that seems to work."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(c.silence().Seconds())
			return nil
		})); err != nil {
		return nil, err
	}
	for _, k := range envelope.Kinds() {
		c.kinds[k] = metric.WithAttributeSet(attribute.NewSet(attribute.String("kind", string(k))))
	}
	for _, r := range dropReasons() {
		c.reasons[r] = metric.WithAttributeSet(attribute.NewSet(attribute.String("reason", string(r))))
		c.dropped.Add(context.Background(), 0, c.reasons[r]) // so that an alert sees the first one as an increase
	}
	c.unknown.Add(context.Background(), 0)
	c.known.Add(context.Background(), 0)
	for _, class := range transport.Classes() {
		c.classes[class] = metric.WithAttributeSet(attribute.NewSet(attribute.String("class", string(class))))
		c.refusals.Add(context.Background(), 0, c.classes[class])
	}
	return c, nil
}

func (c *Counters) frame(ctx context.Context, k envelope.Kind) { c.frames.Add(ctx, 1, c.kinds[k]) }

// read notes that a frame came from Signal.
func (c *Counters) read(at time.Time) { c.last.Store(int64(at.Sub(c.began))) }

// silence is how long no frame has come.
func (c *Counters) silence() time.Duration { return time.Since(c.began) - time.Duration(c.last.Load()) }

func (c *Counters) drop(ctx context.Context, r dropReason) {
	c.dropped.Add(ctx, 1, c.reasons[r])
	c.drops.Add(1)
}

// postBounds are around the millisecond in which a post is to be answered.
var postBounds = []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 100e-3, 1}

// Answered notes how long a post to the webhook took to be answered.
func (c *Counters) Answered(took time.Duration) { c.posts.Record(context.Background(), took.Seconds()) }

// Missed counts a frame that was posted to the webhook while nobody received.
func (c *Counters) Missed() { c.drop(context.Background(), dropNotReceiving) }

// Refused counts a message that the server refused to send.
func (c *Counters) Refused(ctx context.Context, class transport.Class) {
	c.refusals.Add(ctx, 1, c.classes[class])
}

func (c *Counters) unknownAnswers(ctx context.Context, n int) {
	c.unknown.Add(ctx, int64(n))
	c.unknowns.Add(int64(n))
}

func (c *Counters) settled(ctx context.Context) {
	c.known.Add(ctx, 1)
	for n := c.unknowns.Load(); n > 0 && !c.unknowns.CompareAndSwap(n, n-1); n = c.unknowns.Load() {
	} // at 0 it was one of an earlier life
}
