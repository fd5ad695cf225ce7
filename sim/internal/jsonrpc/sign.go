package jsonrpc

import (
	"context"
	"time"

	"quartet/sim/internal/signalnet"
)

// show plays a call that only lets somebody see something; read reads from its
// parameters what, and refuses in words that are a guess.
func (c *conn) show(ctx context.Context, at time.Time, account string, p params, read func(params) (signalnet.Sign, error)) (any, *rpcError) {
	groups := p.list("groupId")
	people := append(p.list("recipient"), p.list("username")...)
	s, err := read(p)
	if err == nil {
		err = checkGroups(groups)
	}
	if err == nil && len(groups)+len(people) == 0 {
		err = refusal("No recipients given")
	}
	if err != nil {
		return nil, &rpcError{Code: signalnet.CodeUser, Message: err.Error()}
	}
	s.Via, s.Groups = "rpc", groups
	if len(people) > 0 {
		s.Recipient = people[0]
	}
	// A client that goes away does not take it back.
	out := c.server.net.Show(context.WithoutCancel(ctx), at, account, s)
	to := signalnet.Message{Groups: groups, Recipients: people}
	if out.Failure != nil {
		return nil, c.failed(to, out)
	}
	return map[string]any{"timestamp": out.Timestamp, "results": results(to, out, "SUCCESS", 0)}, nil
}

func reaction(p params) (signalnet.Sign, error) {
	s := signalnet.Sign{Kind: "reaction", Emoji: p.text("emoji"), TargetAuthor: p.text("targetAuthor")}
	if p.flag("remove", false) {
		s.Kind = "unreaction"
	}
	var ok bool
	s.Timestamp, ok = p.number("targetTimestamp")
	switch {
	case s.Emoji == "":
		return s, refusal("Emoji parameter is missing")
	case s.TargetAuthor == "":
		return s, refusal("Target author parameter is missing")
	case !ok:
		return s, refusal("Target timestamp parameter is missing")
	}
	return s, nil
}

func remoteDelete(p params) (signalnet.Sign, error) {
	s := signalnet.Sign{Kind: "remote_delete"}
	var ok bool
	if s.Timestamp, ok = p.number("targetTimestamp"); !ok {
		return s, refusal("Target timestamp parameter is missing")
	}
	return s, nil
}

func typing(p params) (signalnet.Sign, error) {
	if p.flag("stop", false) {
		return signalnet.Sign{Kind: "stopped"}, nil
	}
	return signalnet.Sign{Kind: "typing"}, nil
}

// receipt reads a receipt, which is for the one person who wrote the messages.
func receipt(p params) (signalnet.Sign, error) {
	s := signalnet.Sign{Kind: "receipt", TargetAuthor: p.text("recipient")}
	kind := p.text("type")
	times := p.numbers("targetTimestamp")
	switch {
	case s.TargetAuthor == "" || len(p.list("groupId")) > 0:
		return s, refusal("A receipt is for one recipient")
	case kind != "" && kind != "read" && kind != "viewed":
		return s, refusal("Unknown receipt type: " + kind)
	case len(times) == 0:
		return s, refusal("Target timestamp parameter is missing")
	}
	s.Timestamp = times[0]
	return s, nil
}
