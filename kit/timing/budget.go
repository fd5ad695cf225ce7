package timing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"quartet/kit/budget"
)

// ObserveBudget shows how full b is, who waits for it and what it refused.
func (in *Instruments) ObserveBudget(b *budget.Budget) { in.budgets.add(b.Stats) }

// BudgetWait is the budget.Options.OnWait that records the waits for the budget
// of that name.
func (in *Instruments) BudgetWait(name string) func(ctx context.Context, waited time.Duration) {
	options := series(keyBudget.String(name))
	return func(ctx context.Context, waited time.Duration) {
		in.wait.budget.Record(ctx, waited.Seconds(), options...)
	}
}

func (in *Instruments) buildBudgets(b *builder) {
	in.wait.budget = b.seconds(nameBudgetWait, "Wait for a budget, of those who had to wait.", waitBounds)
	limit := b.level(nameBudgetLimit, "{unit}", "Units that a budget has.")
	usage := b.level(nameBudgetUsage, "{unit}", "Units of a budget that are taken.")
	waiting := b.level(nameBudgetWaiting, "{request}", "Requests that wait for a budget.")
	rejections := b.counter(nameBudgetRejections, "{request}", "Requests that a budget gave nothing, by reason.")
	reclaimed := b.counter(nameBudgetReclaimed, "{lease}", "Leases that were lost and taken back.")

	b.observe(func(o metric.Observer) {
		in.budgets.each(func(s budget.Stats) {
			name := keyBudget.String(s.Name)
			only := metric.WithAttributes(name)
			o.ObserveInt64(limit, s.Capacity, only)
			o.ObserveInt64(usage, s.InUse, only)
			o.ObserveInt64(waiting, int64(s.Waiting), only)
			o.ObserveInt64(reclaimed, int64(s.Reclaimed), only)
			rejected := func(reason string, n uint64) {
				o.ObserveInt64(rejections, int64(n), metric.WithAttributes(name, keyReason.String(reason)))
			}
			rejected(reasonCanceled, s.Rejected.Canceled)
			rejected(reasonDeadline, s.Rejected.Deadline)
			rejected(reasonClosed, s.Rejected.Closed)
			rejected(reasonTooLarge, s.Rejected.TooLarge)
			rejected(reasonFull, s.Rejected.Full)
		})
	}, limit, usage, waiting, rejections, reclaimed)
}
