package outbox

import (
	"context"
	"fmt"
	"log/slog"

	"quartet/services/botd/internal/transport"
	"quartet/services/botd/internal/upstream"
)

// repair mends what a message was refused for, and reports whether another try
// makes sense. It may change the message.
func (o *Outbox) repair(ctx context.Context, out *transport.Outgoing, refused *transport.Error) bool {
	action := refused.Action()
	if !action.RetryOnce || refused.Reached > 0 {
		return false
	}
	var mended bool
	var err error
	switch action.Repair {
	case transport.RepairTrust:
		mended, err = o.trust(ctx, out.Chat, refused.Failed)
	case transport.RepairDownscale:
		mended, err = o.shrink(ctx, out)
	case transport.RepairSetProfile:
		if mended = o.options.Profile.Name != ""; mended {
			err = o.Signal.SetProfile(ctx, o.options.Profile)
		}
	}
	if err != nil {
		o.Log.LogAttrs(ctx, slog.LevelWarn, "not mended what a message was refused for",
			slog.String("repair", string(action.Repair)), slog.Any("err", err))
		return false
	}
	if mended {
		o.Log.LogAttrs(ctx, slog.LevelInfo, "trying once more", slog.String("repair", string(action.Repair)))
	}
	return mended
}

// trust takes the new keys of those whom a message did not reach, if the
// operator lets it. Of a direct chat it is clear who that is.
func (o *Outbox) trust(ctx context.Context, chat transport.Chat, failed []transport.Failure) (bool, error) {
	if !o.options.Trust {
		return false, nil
	}
	people := transport.Untrusted(failed)
	if len(people) == 0 && chat.User != "" {
		people = []string{chat.User}
	}
	for _, p := range people {
		if err := o.Signal.Trust(ctx, p); err != nil {
			return false, err
		}
	}
	return len(people) > 0, nil
}

func (o *Outbox) shrink(ctx context.Context, out *transport.Outgoing) (bool, error) {
	if out.Attachment == nil || len(out.Attachment.Data) == 0 {
		return false, nil
	}
	small, err := o.Shrink(ctx, upstream.Picture{ContentType: out.Attachment.ContentType, Data: out.Attachment.Data})
	if err != nil {
		return false, fmt.Errorf("make the picture smaller: %w", err)
	}
	a := *out.Attachment
	a.ContentType, a.Data = small.ContentType, small.Data
	a.Filename = "picture" + small.Extension()
	out.Attachment = &a
	return true, nil
}
