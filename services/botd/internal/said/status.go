package said

import (
	"strconv"
	"strings"
	"time"
)

// State is what admins are told about the bot.
type State struct {
	Up        time.Duration
	Transport string
	NotReady  string // why it is not ready; empty when it is

	Answered, Failed, Unknown, Dropped, Waiting int

	Own, Upstream, Send Spread
}

// Spread is how a duration is distributed.
type Spread struct{ P50, P95, P99 time.Duration }

// State says how the bot is and where the time goes.
func (l Lang) State(s State) string {
	ready := l.say(statusReady)
	if s.NotReady != "" {
		ready = l.say(statusNotReady, theirs("reason", s.NotReady))
	}
	return strings.Join([]string{
		l.say(statusUp, text("duration", l.Lasting(s.Up)), text("transport", s.Transport)),
		ready,
		l.say(statusAnswers, count("answered", s.Answered), count("failed", s.Failed), count("unknown", s.Unknown),
			count("dropped", s.Dropped), count("waiting", s.Waiting)),
		l.spread(statusOwn, s.Own),
		l.spread(statusUpstream, s.Upstream),
		l.spread(statusSend, s.Send),
	}, "\n")
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
