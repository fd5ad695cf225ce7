package bot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"quartet/kit/timing"
	"quartet/services/botd/internal/transport"
)

// daemon is a signal-cli that brings the frames it is given, and after a stop
// those of them that are under way.
type daemon struct {
	pressesBack bool
	standsStill bool
	frames      chan string
	cut         chan error   // breaks the link
	onStop      func()       // comes before what is under way
	clock       atomic.Int64 // of who writes; no two messages are of one moment
	peer        *timing.Peer // whose time a call is; set by the stage
	checks      atomic.Int32
	links       atomic.Int32

	mu      sync.Mutex
	onSend  func(context.Context, transport.Outgoing) error // nil sends; guarded by mu, as all below
	onAside func(context.Context) error                     // for reactions and typing
	onFile  func(context.Context, string) error             // for files to be deleted
	account error                                           // what Check says
	tried   int
	out     []transport.Outgoing
	left    []string
	deleted []string
	shown   []string // reactions and typing
}

func newDaemon() *daemon {
	d := &daemon{pressesBack: true, frames: make(chan string, 10_000), cut: make(chan error)}
	d.clock.Store(1000)
	return d
}

// sentAt is the timestamp of the n-th message sent.
func sentAt(n int) int64 { return 5_000_000 + int64(n) }

func (d *daemon) Traits() transport.Traits {
	return transport.Traits{PressesBack: d.pressesBack, StandsStill: d.standsStill}
}

func (d *daemon) Receive(ctx context.Context, to transport.Receiver) error {
	d.links.Add(1)
	to.Open()
	link := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		select {
		case f := <-d.frames:
			to.Frame(link, []byte(f))
		case err := <-d.cut:
			return err
		case <-ctx.Done():
		}
	}
	if d.onStop != nil {
		d.onStop()
	}
	for len(d.frames) > 0 {
		to.Frame(link, []byte(<-d.frames))
	}
	return ctx.Err()
}

func (d *daemon) Send(ctx context.Context, o transport.Outgoing) (receipt transport.Receipt, err error) {
	ctx, call := timing.Send(ctx, d.peer, "send")
	defer func() { call.End(true, err) }()
	d.mu.Lock()
	d.tried++
	onSend := d.onSend
	d.mu.Unlock()
	if onSend != nil {
		if err := onSend(ctx, o); err != nil {
			return transport.Receipt{}, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out = append(d.out, o)
	return transport.Receipt{Timestamp: sentAt(len(d.out))}, nil
}

func (d *daemon) React(ctx context.Context, r transport.Reaction) error {
	return d.show(ctx, fmt.Sprint(r.Emoji, " on ", r.Timestamp, " of ", r.Author))
}

func (d *daemon) Typing(ctx context.Context, chat transport.Chat, on bool) error {
	return d.show(ctx, fmt.Sprint("typing ", on, " in ", chat))
}

func (d *daemon) show(ctx context.Context, what string) (err error) {
	ctx, call := timing.Send(ctx, d.peer, "aside")
	defer func() { call.End(true, err) }()
	d.mu.Lock()
	onAside := d.onAside
	d.shown = append(d.shown, what)
	d.mu.Unlock()
	if onAside != nil {
		return onAside(ctx)
	}
	return nil
}

func (d *daemon) Leave(_ context.Context, group string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = append(d.left, group)
	return nil
}

func (d *daemon) Trust(context.Context, string) error { return nil }

func (d *daemon) SetProfile(context.Context, transport.Profile) error { return nil }

func (d *daemon) DeleteAttachment(ctx context.Context, id string) error {
	d.mu.Lock()
	onFile := d.onFile
	d.mu.Unlock()
	if onFile != nil {
		if err := onFile(ctx, id); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deleted = append(d.deleted, id)
	return nil
}

func (d *daemon) Check(context.Context) ([]transport.Warning, error) {
	d.checks.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	return nil, d.account
}

// sendWith has f called for what is sent from now on.
func (d *daemon) sendWith(f func(context.Context, transport.Outgoing) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.onSend = f
}

// refuse refuses the next sends, one error each.
func (d *daemon) refuse(errs ...error) {
	var n atomic.Int32
	d.sendWith(func(context.Context, transport.Outgoing) error {
		if i := int(n.Add(1)) - 1; i < len(errs) {
			return errs[i]
		}
		return nil
	})
}

func (d *daemon) setAccount(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.account = err
}

func (d *daemon) sent() []transport.Outgoing {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.out)
}

func (d *daemon) texts() []string {
	var all []string
	for _, o := range d.sent() {
		all = append(all, o.Text)
	}
	return all
}

// list is a copy of one of the daemon's lists.
func (d *daemon) list(of *[]string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(*of)
}

// frame is a frame to be brought.
type frame struct {
	from, number, name, text, group, title string
	device                                 int
	at, server, edits, deletes             int64
	receipts                               []int64
	files                                  []string
	sync                                   bool // from another device of our account
	update                                 bool // of the group's members or title
}

// bring brings frames, each with a moment of its own if it has none.
func (d *daemon) bring(all ...frame) {
	for _, f := range all {
		if f.at == 0 {
			f.at = d.clock.Add(1)
		}
		d.frames <- f.String()
	}
}

func (f frame) String() string {
	type object = map[string]any
	data := object{"timestamp": f.at, "message": f.text}
	if f.group != "" {
		kind := "DELIVER"
		if f.update {
			kind = "UPDATE"
		}
		data["groupInfo"] = object{"groupId": f.group, "groupName": f.title, "type": kind}
	}
	for _, id := range f.files {
		all, _ := data["attachments"].([]any)
		data["attachments"] = append(all, object{"id": id, "contentType": "image/png"})
	}
	in := object{"sourceUuid": f.from, "sourceName": f.name, "sourceDevice": f.device, "timestamp": f.at, "serverReceivedTimestamp": f.server}
	if f.number != "" {
		in["sourceNumber"] = f.number
	}
	switch {
	case f.edits != 0:
		in["editMessage"] = object{"targetSentTimestamp": f.edits, "dataMessage": data}
	case f.deletes != 0:
		in["dataMessage"] = object{"timestamp": f.at, "message": nil, "remoteDelete": object{"timestamp": f.deletes}}
	case f.receipts != nil:
		in["receiptMessage"] = object{"when": f.at, "isDelivery": true, "timestamps": f.receipts}
	case f.sync:
		in["syncMessage"] = object{"sentMessage": data}
	default:
		in["dataMessage"] = data
	}
	raw, err := json.Marshal(object{"account": number, "envelope": in})
	if err != nil {
		panic(err)
	}
	return string(raw)
}
