package live

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// calm has people ask, each in a chat of their own and nobody twice, so that
// what is seen is what a command takes and not what waits for what.
func (s *stack) calm(ctx context.Context, d time.Duration) error {
	const spacing = 700 * time.Millisecond
	asked := []string{"!kot", "!pomoc", "!kot", "!ja"}
	var all []frame
	for i := range int(d / spacing) {
		all = append(all, frame{"sender": person(i), "text": asked[i%len(asked)]})
	}
	if err := send(ctx, http.MethodPost, s.signal+"/_sim/frames?spacing="+spacing.String(), all); err != nil {
		return fmt.Errorf("have people ask: %w", err)
	}
	return sleep(ctx, d+4*time.Second) // a picture takes that long
}

// trouble brings about what happens rarely: more than there is room for, people
// in a hurry, refusals, silence, lost connections, and nonsense; on the bus too.
func (s *stack) trouble(ctx context.Context) error {
	steps := []struct {
		what, method, url string
		body              any
		wait              time.Duration
	}{
		{"a rush for pictures", http.MethodPost, s.signal + "/_sim/frames", map[string]any{"count": 20, "spacing": "1ms", "people": 20, "groups": 0, "text": "!kot", "first": 1000}, 5 * time.Second},
		{"a rush in few groups", http.MethodPost, s.signal + "/_sim/frames", map[string]any{"count": 40, "spacing": "1ms", "people": 40, "groups": 4, "text": "!pomoc", "first": 2000}, 6 * time.Second},
		{"one in a hurry", http.MethodPost, s.signal + "/_sim/frames?spacing=2ms", hurried(24), 2 * time.Second},
		{"answers that are refused, and frames twice", http.MethodPut, s.signal + "/_sim/quirks", map[string]any{
			"send_fail_transient": 1, "send_fail_identity": 2, "send_hang": 1, "duplicate_frames": 2}, 0},
		{"an API that is down", http.MethodPut, s.web + "/_sim/quirks", map[string]any{"search_fail": 3}, 0},
		{"questions meanwhile", http.MethodPost, s.signal + "/_sim/frames", map[string]any{
			"count": 24, "spacing": "300ms", "people": 24, "groups": 0, "text": []string{"!ja", "!kot", "!pomoc"}, "first": 3000, "noise": 0.2, "noise_min": 600, "noise_max": 900}, 3 * time.Second},
		{"nonsense", http.MethodPost, s.signal + "/_sim/frames?spacing=20ms", nonsense(), time.Second},
		{"nonsense on the bus, and somebody who does not read", http.MethodPut, s.bus + "/_sim/quirks", map[string]any{
			"nonsense": 3, "stall": 1, "unknown": 3, "call_fail": 2}, 0},
		{"a burst on the bus", http.MethodPost, s.bus + "/_sim/burst?count=20000", nil, time.Second},
		{"a lost connection", http.MethodPost, s.signal + "/_sim/disconnect?what=ws", nil, 12 * time.Second},
	}
	for _, step := range steps {
		if err := send(ctx, step.method, step.url, step.body); err != nil {
			return fmt.Errorf("bring about %s: %w", step.what, err)
		}
		if err := sleep(ctx, step.wait); err != nil {
			return err
		}
	}
	return nil
}

type frame = map[string]any

// hurried is one person who asks again and again.
func hurried(n int) []frame {
	var all []frame
	for range n {
		all = append(all, frame{"sender": person(4000), "text": "!ja"})
	}
	return all
}

// nonsense are frames that get no answer, of several kinds.
func nonsense() []frame {
	who := person(5000)
	return []frame{
		{"sender": who, "text": "!nosuchcommand"},
		{"sender": who, "text": "just talking"},
		{"sender": who, "typing": "STARTED"},
		{"sender": who, "receipt": frame{"kind": "read", "timestamps": []int64{1}}},
		{"sender": who, "text": "!ja", "age": "1h"},
		{"sender": who, "reaction": frame{"emoji": "👍", "target_author": person(5001), "target_timestamp": 1}},
	}
}

func person(n int) string { return fmt.Sprintf("5eed0000-0000-4000-8000-%012d", n) }
