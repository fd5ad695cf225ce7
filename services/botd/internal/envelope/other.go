package envelope

type synced struct {
	is   bool
	sent data
	edit edit

	destination, number, uuid []byte
}

type receipt struct {
	is         bool
	timestamps list
}

func (y *synced) read(s *scanner) {
	*y = synced{}
	if s.null() {
		return
	}
	y.is = true
	for more := s.open('{'); more; more = s.more('{') {
		if string(s.name()) == "sentMessage" {
			y.readSent(s)
		} else {
			s.skip(0)
		}
	}
}

// readSent reads what another device of ours sent: a data message, or an edit,
// and beside its fields those that say to whom.
func (y *synced) readSent(s *scanner) {
	*y = synced{is: true}
	if s.null() {
		return
	}
	for more := s.open('{'); more; more = s.more('{') {
		switch name := s.name(); string(name) {
		case "destination":
			s.text(&y.destination)
		case "destinationNumber":
			s.text(&y.number)
		case "destinationUuid":
			s.text(&y.uuid)
		case "editMessage":
			y.edit.read(s)
		default:
			if !y.sent.field(s, name) {
				s.skip(0)
			}
		}
	}
}

func (r *receipt) read(s *scanner) {
	*r = receipt{}
	if s.null() {
		return
	}
	r.is = true
	for more := s.open('{'); more; more = s.more('{') {
		if string(s.name()) == "timestamps" {
			r.timestamps.numbers(s)
		} else {
			s.skip(0)
		}
	}
}
