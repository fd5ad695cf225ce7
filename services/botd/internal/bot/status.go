package bot

import (
	"context"
	"time"

	"quartet/services/botd/internal/said"
)

// statusTimeout bounds what the status asks of Signal's server.
const statusTimeout = 5 * time.Second

// Status is what admins are told about the bot; how it is connected the caller
// has to say.
func (b *Bot) Status(ctx context.Context) said.State {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	s := said.State{
		Up:      time.Since(b.began),
		Unknown: int(b.Counters.unknowns.Load()),
		Dropped: int(b.Counters.drops.Load()),

		Waiting:      b.senders.Stats().Waiting + len(b.turns),
		WaitingBytes: b.backlog.Stats().InUse,
		Spilled:      int(b.spilled.Load()),
	}
	if err := b.Ready(ctx); err != nil {
		s.NotReady = err.Error()
	}
	b.recent.fill(&s)
	return s
}
