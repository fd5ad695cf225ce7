package outbox

import (
	"context"

	"quartet/kit/lockmap"
	"quartet/services/botd/internal/transport"
)

// Queue calls granted when it is the caller's turn to write to a chat, after
// all who queued before: at once and on this goroutine when nobody has it.
// Signal-cli works on overlapping sends side by side, so only one that was
// answered is certainly in front of the next.
func (o *Outbox) Queue(chat transport.Chat, granted func()) {
	if err := o.chats.Queue(chat, granted); err != nil {
		panic(err) // it has no bound of its own: what waits is bounded by who queues
	}
}

// TryTurn takes a chat's turn if nobody has it or waits for it.
func (o *Outbox) TryTurn(chat transport.Chat) bool { return o.chats.TryLock(chat) }

// Turn waits for the caller's turn to write to a chat.
func (o *Outbox) Turn(ctx context.Context, chat transport.Chat) error {
	return o.chats.Lock(ctx, chat)
}

// Done ends a turn.
func (o *Outbox) Done(chat transport.Chat) { o.chats.Unlock(chat) }

// Chats is how the queues of chats are doing.
func (o *Outbox) Chats() interface{ Stats() lockmap.Stats } { return o.chats }
