package bot

import (
	"context"
	"time"
	"unicode/utf8"

	"quartet/services/botd/internal/envelope"
	"quartet/services/botd/internal/transport"
)

// freshEdit is how long after a message was sent an edit of it may still make a
// command of it.
const freshEdit = 2 * time.Minute

// triage returns the message to answer, or nil for everything else that comes
// over the wire, with a counted reason. It runs on the reader's goroutine and
// waits for nothing.
func (b *Bot) triage(ctx context.Context, raw []byte, readAt time.Time) *message {
	in, err := envelope.Parse(raw)
	if err != nil {
		b.Counters.drop(ctx, dropMalformed)
		return nil
	}
	b.Counters.frame(ctx, in.Kind)
	switch in.Kind {
	case envelope.KindText, envelope.KindEdit:
	case envelope.KindDelete, envelope.KindReceipt, envelope.KindSync:
		b.aboutAnother(ctx, &in)
		return nil
	case envelope.KindGroup:
		if in.Account == b.Number && in.GroupID != "" {
			b.Out.Unpark(chatOf(&in)) // we may be a member again
		}
		return nil
	default:
		return nil
	}
	if why := b.unheard(&in, readAt); why != "" {
		b.Counters.drop(ctx, why)
		return nil
	}
	if !b.Reader.Addressed(in.Text, in.Mentions) {
		return nil // people talking to each other
	}
	if why := b.unwanted(&in, readAt); why != "" {
		b.Counters.drop(ctx, why)
		b.deleteAttachments(&in)
		return nil
	}
	m := &message{in: in, at: readAt, cost: minCost + weight(&in)}
	m.rec.Start(readAt)
	return m
}

// unheard returns why a text is nobody's that the bot could answer, "" when it
// is somebody's.
func (b *Bot) unheard(in *envelope.Message, readAt time.Time) dropReason {
	switch {
	case in.Account != b.Number:
		return dropForeignAccount
	case in.Sender == "":
		return dropNoSender
	case b.self.wrote(in):
		return dropOwn // our own words must never answer themselves
	}
	if b.Out.Echo(in.Timestamp, chatOf(in), in.Text) {
		return dropOwn // and this is one of them, from an account whose number is hidden
	}
	return ""
}

// unwanted returns why a command is not to be answered, "" when it may be.
func (b *Bot) unwanted(in *envelope.Message, readAt time.Time) dropReason {
	admin := b.circle.admin(in)
	switch {
	case in.ServerTime > 0 && readAt.Sub(time.UnixMilli(in.ServerTime)) > b.options.MaxAge:
		return dropStale
	case in.Kind == envelope.KindEdit && time.Duration(in.Timestamp-in.Edits)*time.Millisecond > freshEdit:
		return dropLateEdit
	case !admin && b.Rules.Ignored(in.Sender):
		return dropIgnored
	case in.GroupID == "" && !b.circle.direct && !admin:
		return dropNotDirect
	case in.GroupID != "" && !admin && !b.knownGroup(in.GroupID):
		b.stranger(in)
		return dropUnknownGroup
	}
	return ""
}

// Allow has the bot answer in a group, and look anew whether it can be written to.
func (b *Bot) Allow(group string) error {
	err := b.Rules.Allow(group)
	if err == nil {
		b.Out.Unpark(transport.Chat{Group: group})
	}
	return err
}

// knownGroup reports whether the bot answers in a group. What an admin forbade
// stays so, whatever the operator's list says. Where self-tests go, it does.
func (b *Bot) knownGroup(group string) bool {
	return !b.Rules.Forbidden(group) && (b.circle.all || b.circle.groups[group] || group == b.options.SelftestGroup || b.Rules.Allowed(group))
}

// aboutAnother takes in what says something about an earlier message.
func (b *Bot) aboutAnother(ctx context.Context, in *envelope.Message) {
	switch {
	case in.Account != b.Number || in.Sender == "":
	case in.Kind == envelope.KindDelete:
		b.Ledger.Cancel(in.Sender, in.Deletes) // it is counted when its turn comes
	case in.Kind == envelope.KindReceipt:
		b.receipt(ctx, in)
	default:
		b.self.learn(in.Sender) // only our own account's devices send these
	}
}

// weight is what the texts of a message weigh, with those of its mentions. It is
// no less than they take in the store: a full backlog must leave room there.
func weight(in *envelope.Message) int64 {
	n := written(in.Text) + written(in.Name) + len(in.Sender) + len(in.Number) + len(in.GroupID) + written(in.GroupName) + len(in.To)
	for _, m := range in.Mentions {
		n += len(m.UUID) + len(m.Number) + mentionCost
	}
	for _, id := range in.Attachments {
		n += len(id) + mentionCost
	}
	return int64(n)
}

// written is how long a text is as JSON, at most: its signs that have to be
// spelled there may be all of it.
func written(text string) int {
	n := len(text)
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			n++
		case r < ' ', r == '\u2028', r == '\u2029', r == utf8.RuneError:
			n += 5
		}
	}
	return n
}

// mentionCost is what a mention weighs beside its texts.
const mentionCost = 48
