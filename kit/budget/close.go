package budget

import (
	"context"
	"fmt"
)

// Close makes every later request, and all who wait, fail with ErrClosed.
// Units that are out stay valid and are to be given back as usual.
func (b *Budget) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.closed = true
	b.state.Or(slow)
	b.refuse(func(*waiter) bool { return true }, closed)
	b.settle()
}

// Drain closes the budget and waits until everything has been given back. It
// returns an error only if ctx ends first; the budget is closed all the same.
func (b *Budget) Drain(ctx context.Context) error {
	b.Close()
	select {
	case <-b.drained:
		return nil
	default:
	}
	select {
	case <-b.drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("drain budget %s: %d in use: %w", b.name, b.Stats().InUse, contextError(ctx))
	}
}

// signalDrained may be called again: a Resize passes through the same state.
func (b *Budget) signalDrained() {
	select {
	case <-b.drained:
	default:
		close(b.drained)
	}
}
