package groupchat

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"quartet/sim/internal/signalnet"
)

// person is somebody who writes by themselves.
type person struct{ name, uuid string }

var people = []person{
	{"Ala", "11111111-1111-4111-8111-111111111111"},
	{"Bartek", "22222222-2222-4222-8222-222222222222"},
	{"Celina", "33333333-3333-4333-8333-333333333333"},
	{"Darek", "44444444-4444-4444-8444-444444444444"},
}

// lines are what they write; about half are commands.
var lines = []string{
	"!kot", "!kot", "!kot", "!pomoc", "!ja", "!ja",
	"dzień dobry!", "kto karmi dziś koty?", "mój śpi na klawiaturze", "ale słodki 😻", "u nas znowu pada", "wpadnę po szóstej",
}

// Chatter lets the synthetic people write: one message at random between a
// half and one and a half of every, until ctx ends.
func Chatter(ctx context.Context, net *signalnet.Network, every time.Duration, seed uint64, log *slog.Logger) error {
	random := rand.New(rand.NewPCG(seed, 2))
	for {
		timer := time.NewTimer(every/2 + time.Duration(random.Int64N(int64(every))))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		p := people[random.IntN(len(people))]
		spec := signalnet.Spec{Text: lines[random.IntN(len(lines))], Sender: p.uuid, Name: p.name, Group: net.Groups[0].ID}
		if err := net.Enqueue([]signalnet.Spec{spec}, 0); err != nil {
			log.LogAttrs(ctx, slog.LevelWarn, "chatter skipped", slog.Any("err", err))
		}
	}
}
