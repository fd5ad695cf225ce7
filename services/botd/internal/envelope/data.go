package envelope

// data is a data message, also inside an edit, and mixed into the message of
// another device of ours.
type data struct {
	is          bool
	timestamp   int64
	message     []byte
	mentions    list
	attachments list
	deletes     int64

	group struct{ id, name, kind []byte }
}

// edit is a message that changes an earlier one, which it names by its time.
type edit struct {
	is     bool
	target int64
	data   data
}

func (d *data) read(s *scanner) {
	*d = data{}
	if s.null() {
		return
	}
	d.is = true
	for more := s.open('{'); more; more = s.more('{') {
		if !d.field(s, s.name()) {
			s.skip(0)
		}
	}
}

// field reads the value behind a name of a data message; false for other names.
func (d *data) field(s *scanner, name []byte) bool {
	switch string(name) {
	case "timestamp":
		s.integer(&d.timestamp)
	case "message":
		s.text(&d.message)
	case "mentions":
		d.mentions.mentions(s)
	case "attachments":
		d.attachments.ids(s)
	case "groupInfo":
		d.readGroup(s)
	case "remoteDelete":
		d.readDelete(s)
	default:
		return false
	}
	return true
}

func (d *data) readGroup(s *scanner) {
	g := &d.group
	g.id, g.name, g.kind = nil, nil, nil
	if s.null() {
		return
	}
	for more := s.open('{'); more; more = s.more('{') {
		switch string(s.name()) {
		case "groupId":
			s.text(&g.id)
		case "groupName":
			s.text(&g.name)
		case "type":
			s.text(&g.kind)
		default:
			s.skip(0)
		}
	}
}

func (d *data) readDelete(s *scanner) {
	d.deletes = 0
	if s.null() {
		return
	}
	for more := s.open('{'); more; more = s.more('{') {
		if string(s.name()) == "timestamp" {
			s.integer(&d.deletes)
		} else {
			s.skip(0)
		}
	}
}

func (e *edit) read(s *scanner) {
	*e = edit{}
	if s.null() {
		return
	}
	e.is = true
	for more := s.open('{'); more; more = s.more('{') {
		switch string(s.name()) {
		case "targetSentTimestamp":
			s.integer(&e.target)
		case "dataMessage":
			e.data.read(s)
		default:
			s.skip(0)
		}
	}
}
