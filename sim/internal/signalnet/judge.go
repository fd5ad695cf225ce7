package signalnet

// verdict is an outcome before its time has passed.
type verdict struct {
	Outcome
	lost bool // not delivered
}

func failed(f *Failure) verdict { return verdict{Outcome: Outcome{Failure: f}, lost: true} }

// judge lets the first quirk that fires decide a send.
func (n *Network) judge(m Message) verdict {
	q := n.Quirks
	if f := n.forbids(m); f != nil {
		return failed(f)
	}
	for _, f := range failures {
		if q.Take("send_fail_" + f.Class) {
			return failed(failure(f.Class))
		}
	}
	switch {
	case q.Take("send_429"):
		return failed(rateLimited(q.Text("challenge_token")))
	case q.Take("send_429_delivered"):
		return verdict{Outcome: Outcome{Failure: rateLimited(q.Text("challenge_token"))}}
	case len(m.Attachments) > 0 && q.Take("send_429_upload"):
		return failed(uploadLimited())
	case q.Take("send_hang"):
		return verdict{Outcome: Outcome{Answer: Silent}}
	case q.Take("send_hang_lost"):
		return verdict{Outcome: Outcome{Answer: Silent}, lost: true}
	case q.Take("send_cut"):
		return verdict{Outcome: Outcome{Answer: Cut}}
	}
	if class := n.unlucky(); class != "" {
		return failed(failure(class))
	}
	return verdict{Outcome: Outcome{Missed: n.missed(m)}}
}

// unlucky draws a failure class by the rates set, "" for none.
func (n *Network) unlucky() string {
	rates := n.Quirks.Rates("send_error_rates")
	if len(rates) == 0 {
		return ""
	}
	p := n.chance()
	for _, f := range failures { // in a fixed order, so that a seed repeats
		if p -= rates[f.Class]; p < 0 {
			return f.Class
		}
	}
	return ""
}

// forbids says why the present state of things does not let a message through,
// nil if it does.
func (n *Network) forbids(m Message) *Failure {
	q := n.Quirks
	if !n.HasAccount(m.Number) {
		return failure("account")
	}
	if q.On("rate_limited") {
		return rateLimited(q.Text("challenge_token"))
	}
	for _, id := range m.Groups {
		if f := n.forbidsGroup(id); f != nil {
			return f
		}
	}
	for _, who := range m.Recipients {
		if len(m.Groups) == 0 && n.account.distrusts(who) {
			return failure("identity")
		}
	}
	if limit := q.Number("max_attachment_bytes"); limit > 0 {
		for _, file := range m.Attachments {
			if int64(file.Size) > limit {
				return failure("too_large")
			}
		}
	}
	return nil
}

func (n *Network) forbidsGroup(id string) *Failure {
	g, known := n.GroupByID(id)
	switch {
	case !known && n.Quirks.On("unknown_group_fails"):
		return groupNotFound(id)
	case g.Left:
		return notMember(g)
	case g.Announcement && !g.BotAdmin:
		return noSending(g)
	case n.Quirks.On("profile_missing") && n.Profile().Name == "":
		return failure("profile")
	}
	return nil
}

// missed returns the recipient whom a message to a group does not reach.
func (n *Network) missed(m Message) string {
	for _, id := range m.Groups {
		g, _ := n.GroupByID(id)
		for _, member := range g.Members {
			if n.account.distrusts(member) {
				return member
			}
		}
	}
	if n.Quirks.Take("partial_failure") {
		return Unreached
	}
	return ""
}
