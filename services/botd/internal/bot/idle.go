package bot

import (
	"context"
	"time"

	"quartet/kit/budget"
)

// Idle waits until nothing is under way any more: for who brings the frames one
// by one and wants each one's answer before the next.
func (b *Bot) Idle(ctx context.Context) error {
	for b.busy() {
		if !sleep(ctx, time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// busy looks at the stages in the order in which a message goes through them,
// so that none slips past.
func (b *Bot) busy() bool {
	for _, stage := range []*budget.Budget{b.backlog, b.slots, b.replies, b.sends, b.asides, b.litter} {
		if stage.Stats().InUse > 0 {
			return true
		}
	}
	return false
}
