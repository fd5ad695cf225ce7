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
		Waiting: b.waiting(),
	}
	if err := b.Ready(ctx); err != nil {
		s.NotReady = err.Error()
	}
	b.recent.fill(&s)
	return s
}

// waiting is how many messages wait for an answer, in memory and on disk.
func (b *Bot) waiting() int {
	return b.senders.Stats().Waiting + len(b.turns) + int(b.spilled.Load())
}
