package timing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"quartet/kit/journal"
)

// journalStats are those of the journal of that name: a journal knows only its
// folder, which is nobody's business.
type journalStats struct {
	name string
	journal.Stats
}

// ObserveJournal shows how full j, a *journal.Log or what keeps one, is. Its
// Stats are asked for after its Close too.
func (in *Instruments) ObserveJournal(name string, j interface{ Stats() journal.Stats }) {
	in.journals.add(func() journalStats { return journalStats{name, j.Stats()} })
}

// JournalWrite is the journal.Options.OnWrite that records the writes, failed
// ones too, of the journal of that name.
func (in *Instruments) JournalWrite(name string) func(took time.Duration, bytes int, err error) {
	options := series(keyJournal.String(name))
	return func(took time.Duration, _ int, _ error) {
		in.wait.write.Record(context.Background(), took.Seconds(), options...)
	}
}

// JournalSync is the journal.Options.OnSync that records the syncs, a failed one
// too, of the journal of that name.
func (in *Instruments) JournalSync(name string) func(took time.Duration, bytes int64, err error) {
	options := series(keyJournal.String(name))
	return func(took time.Duration, _ int64, _ error) {
		in.wait.sync.Record(context.Background(), took.Seconds(), options...)
	}
}

func (in *Instruments) buildJournals(b *builder) {
	in.wait.write = b.seconds(nameJournalWrite, "One write to a journal, of one or several who shared it.", waitBounds)
	in.wait.sync = b.seconds(nameJournalSync, "One sync of a journal, until the disk has what was written.", waitBounds)
	usage := b.level(nameJournalUsage, "By", "Bytes that the segments of a journal take.")
	limit := b.level(nameJournalLimit, "By", "Bytes that the segments of a journal may take.")

	b.observe(func(o metric.Observer) {
		in.journals.each(func(s journalStats) {
			only := metric.WithAttributes(keyJournal.String(s.name))
			o.ObserveInt64(usage, s.Bytes, only)
			o.ObserveInt64(limit, s.MaxBytes, only)
		})
	}, usage, limit)
}
