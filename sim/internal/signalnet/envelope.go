package signalnet

import "time"

// envelope builds the envelope of a spec, and returns the ids of its attachments.
func (n *Network) envelope(s Spec, now time.Time) (*envelope, []string) {
	x := s.extra()
	e := &envelope{
		Source: s.Sender, SourceUUID: s.Sender, SourceDevice: max(s.Device, 1), Timestamp: s.Timestamp,
		ServerReceived: now.Add(-time.Duration(x.Age)).UnixMilli(), ServerDelivered: now.UnixMilli(),
	}
	if s.Name != "" {
		e.SourceName = &s.Name
	}
	if number := n.number(s.Sender); number != nil {
		e.Source, e.SourceNumber = *number, number
	}
	var files []string
	switch {
	case x.Receipt != nil:
		k := x.Receipt.Kind
		e.ReceiptMessage = &receiptMessage{now.UnixMilli(), k == "delivery", k == "read", k == "viewed", x.Receipt.Timestamps}
	case x.Typing != "":
		e.TypingMessage = &typingMessage{x.Typing, s.Timestamp, s.Group}
	case x.Sync:
		e.Source, e.SourceUUID, e.SourceNumber = n.Number, BotUUID, &n.Number
		if s.Device == 0 {
			e.SourceDevice = 2
		}
		e.SyncMessage = &syncMessage{}
		e.SyncMessage.Sent, files = n.sentMessage(s, x, now)
	case x.EditOf != 0:
		e.EditMessage = &editMessage{Target: x.EditOf}
		e.EditMessage.DataMessage, files = n.dataMessage(s, x, now)
	default:
		e.DataMessage, files = n.dataMessage(s, x, now)
	}
	return e, files
}

func (n *Network) sentMessage(s Spec, x Extra, now time.Time) (sentMessage, []string) {
	var m sentMessage
	var files []string
	if s.Group == "" && x.To != "" {
		m.Destination, m.DestinationUUID, m.DestinationNumber = &x.To, &x.To, n.number(x.To)
	}
	m.dataMessage, files = n.dataMessage(s, x, now)
	if x.EditOf != 0 {
		m.EditMessage = &editMessage{x.EditOf, m.dataMessage}
		m.dataMessage = nil
	}
	return m, files
}

func (n *Network) dataMessage(s Spec, x Extra, now time.Time) (*dataMessage, []string) {
	d := &dataMessage{Timestamp: s.Timestamp, Message: &s.Text, ExpiresInSeconds: x.Expires, ViewOnce: x.ViewOnce, GroupInfo: n.groupInfo(s.Group)}
	switch {
	case x.DeleteOf != 0:
		d.RemoteDelete = &remoteDelete{x.DeleteOf}
	case x.Reaction != nil:
		r := x.Reaction
		d.Reaction = &reaction{r.Emoji, r.TargetAuthor, n.number(r.TargetAuthor), r.TargetAuthor, r.TargetTimestamp, r.Remove}
	case x.Update:
		d.GroupInfo.Type = "UPDATE"
	case len(x.Attachments) == 0 || s.Text != "":
		return n.withParts(d, x, now)
	}
	d.Message = nil
	return n.withParts(d, x, now)
}

// withParts adds what comes with a text.
func (n *Network) withParts(d *dataMessage, x Extra, now time.Time) (*dataMessage, []string) {
	if q := x.Quote; q != nil {
		d.Quote = &quote{q.Timestamp, q.Author, n.number(q.Author), q.Author, q.Text, []any{}}
	}
	for _, m := range x.Mentions {
		d.Mentions = append(d.Mentions, mention{m.Name, n.number(m.UUID), m.UUID, m.Start, m.Length})
	}
	var ids []string
	for _, f := range x.Attachments {
		id := n.files.add(f, !n.Quirks.On("ignore_attachments"))
		a := frameAttachment{ContentType: f.ContentType, ID: id, Size: f.Bytes, Uploaded: now.UnixMilli()}
		if f.Filename != "" {
			a.Filename = &f.Filename
		}
		d.Attachments = append(d.Attachments, a)
		ids = append(ids, id)
	}
	return d, ids
}

func (n *Network) groupInfo(id string) *groupInfo {
	if id == "" {
		return nil
	}
	info := &groupInfo{GroupID: id, Revision: 1, Type: "DELIVER"}
	if g, known := n.GroupByID(id); known {
		info.GroupName, info.Revision = &g.Name, g.revision
	}
	return info
}

// number returns somebody's number, nil where it is hidden.
func (n *Network) number(uuid string) *string {
	switch {
	case uuid == BotUUID:
		return &n.Number
	case n.Quirks.On("number_null"):
		return nil
	default:
		number := numberOf(uuid)
		return &number
	}
}

// NumberOf returns somebody's number, "" where it is hidden.
func (n *Network) NumberOf(uuid string) string {
	if number := n.number(uuid); number != nil {
		return *number
	}
	return ""
}
