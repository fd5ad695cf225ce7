package said

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// State is what admins are told about the bot.
type State struct {
	Up        time.Duration
	Transport string
	NotReady  string // why it is not ready; empty when it is

	Answered, Failed, Unknown, Dropped int

	Waiting      int   // how many messages wait in memory
	WaitingBytes int64 // and what they take there
	Spilled      int   // how many wait on disk

	Own, Upstream, Send Spread
}

// Spread is how a duration is distributed.
type Spread struct {
	P50, P95, P99 time.Duration
	Sum           time.Duration // of all requests
}

// State says how the bot is and where the time goes.
func (l Lang) State(s State) string {
	ready := l.say(statusReady)
	if s.NotReady != "" {
		ready = l.say(statusNotReady, theirs("reason", s.NotReady))
	}
	lines := []string{
		l.say(statusUp, text("duration", l.Lasting(s.Up)), text("transport", s.Transport)),
		ready,
		l.say(statusAnswers, count("answered", s.Answered), count("failed", s.Failed), count("unknown", s.Unknown),
			count("dropped", s.Dropped)),
		l.say(statusWaiting, count("waiting", s.Waiting), count("kib", int((s.WaitingBytes+1023)/1024)), count("spilled", s.Spilled)),
		l.spread(statusOwn, s.Own),
		l.spread(statusUpstream, s.Upstream),
		l.spread(statusSend, s.Send),
	}
	if slowest := l.slowest(s); slowest != "" {
		lines = append(lines, slowest)
	}
	return strings.Join(lines, "\n")
}

// slowest says which part most of the time goes to; before the first request
// there is none.
func (l Lang) slowest(s State) string {
	var all, most float64 // sums of years of waiting may not fit into a Duration
	var what key
	for _, part := range []struct {
		name key
		sum  time.Duration
	}{{statusOwn, s.Own.Sum}, {statusUpstream, s.Upstream.Sum}, {statusSend, s.Send.Sum}} {
		all += part.sum.Seconds()
		if part.sum.Seconds() > most {
			what, most = part.name, part.sum.Seconds()
		}
	}
	if most == 0 {
		return ""
	}
	return l.say(statusSlowest, text("what", l.say(what)), count("percent", int(math.Round(100*most/all))))
}

func (l Lang) spread(what key, s Spread) string {
	return l.say(statusTimes, text("what", l.say(what)),
		text("p50", l.millis(s.P50)), text("p95", l.millis(s.P95)), text("p99", l.millis(s.P99)))
}

// millis writes milliseconds, with two decimals below 10, in the language's way.
func (l Lang) millis(d time.Duration) string {
	decimals := 0
	if d < 10*time.Millisecond {
		decimals = 2
	}
	s := strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', decimals, 64)
	if l == Polish {
		s = strings.Replace(s, ".", ",", 1)
	}
	return s
}
