package signalnet

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Counters are what the simulator counts since the last reset.
type Counters struct {
	Emitted, Delivered, Posted, Sends, SendsReceived, SendsPending   atomic.Int64
	TypingStarted, TypingStopped, Reactions, Receipts                atomic.Int64
	Deletes, FilesRead, FilesDeleted, ReceiptsGiven, ReceiptsSkipped atomic.Int64

	mu      sync.Mutex
	dropped map[string]int64 // guarded by mu; frames by reason
	failed  map[string]int64 // guarded by mu; sends by failure class
}

func (n *Network) clearCounters() {
	for _, c := range []*atomic.Int64{&n.Emitted, &n.Delivered, &n.Posted, &n.Sends, &n.SendsReceived, &n.TypingStarted, &n.TypingStopped, &n.Reactions, &n.Receipts, &n.Deletes, &n.FilesRead, &n.FilesDeleted, &n.ReceiptsGiven, &n.ReceiptsSkipped} {
		c.Store(0)
	}
	n.Counters.mu.Lock()
	defer n.Counters.mu.Unlock()
	n.dropped, n.failed = map[string]int64{}, map[string]int64{}
}

func (c *Counters) countDropped(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped[reason]++
}

func (c *Counters) countFailed(class string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[class]++
}

// Stats are the counters since the last reset, and what is open now.
type Stats struct {
	Emitted       int64            `json:"frames_emitted"`
	Delivered     int64            `json:"frames_delivered"` // written to a client; two clients count twice
	Posted        int64            `json:"frames_posted"`    // taken by the webhook; not among those delivered
	Dropped       map[string]int64 `json:"frames_dropped"`
	Queued        int              `json:"frames_queued"`  // not emitted yet
	Waiting       int              `json:"frames_waiting"` // emitted while nobody listened, kept by the receive mode
	Sends         int64            `json:"sends"`          // delivered
	SendsReceived int64            `json:"sends_received"` // asked for, after validation
	SendsPending  int64            `json:"sends_pending"`
	SendsFailed   map[string]int64 `json:"sends_failed"` // answered with an error, by class
	TypingStarted int64            `json:"typing_started"`
	TypingStopped int64            `json:"typing_stopped"`
	Reactions     int64            `json:"reactions"`
	Receipts      int64            `json:"receipts"`
	Deletes       int64            `json:"remote_deletes"`
	FilesStored   int              `json:"attachments_stored"` // now
	FilesRead     int64            `json:"attachments_fetched"`
	FilesDeleted  int64            `json:"attachments_deleted"`
	ReceiptsGiven int64            `json:"receipts_emitted"` // by the recipients of sends
	ReceiptsLate  int64            `json:"receipts_skipped"` // not given, because too many were waiting
}

// Stats returns a snapshot.
func (n *Network) Stats() Stats {
	s := Stats{
		Emitted: n.Emitted.Load(), Delivered: n.Delivered.Load(), Posted: n.Posted.Load(), Queued: n.Queued(), Waiting: n.hub.backlog.len(),
		Sends: n.Sends.Load(), SendsReceived: n.SendsReceived.Load(), SendsPending: n.SendsPending.Load(),
		TypingStarted: n.TypingStarted.Load(), TypingStopped: n.TypingStopped.Load(), Reactions: n.Reactions.Load(), Receipts: n.Receipts.Load(),
		Deletes: n.Deletes.Load(), FilesStored: n.files.len(), FilesRead: n.FilesRead.Load(), FilesDeleted: n.FilesDeleted.Load(),
		ReceiptsGiven: n.ReceiptsGiven.Load(), ReceiptsLate: n.ReceiptsSkipped.Load(),
		Dropped: map[string]int64{}, SendsFailed: map[string]int64{},
	}
	n.Counters.mu.Lock()
	defer n.Counters.mu.Unlock()
	maps.Copy(s.Dropped, n.dropped)
	maps.Copy(s.SendsFailed, n.failed)
	return s
}
