package envelope

// frame is what botd wants of a frame, found and checked but not copied: its
// texts are as they are written, inside the frame. JSON null leaves a field at
// its zero value, so absent and null are one; of a key that comes twice the
// last one counts.
type frame struct {
	account   []byte
	envelope  body
	exception bool
	fault     []byte
}

type body struct {
	is                         bool
	source, number, uuid, name []byte
	device, timestamp          int64
	received                   int64

	data    data
	edit    edit
	sync    synced
	receipt receipt

	typing, call, story bool
}

// read reads a whole frame.
func (f *frame) read(s *scanner) {
	for more := s.open('{'); more; more = s.more('{') {
		switch string(s.name()) {
		case "account":
			s.text(&f.account)
		case "envelope":
			f.envelope.read(s)
		case "exception":
			f.exception = s.object()
		case "error":
			s.text(&f.fault)
		default:
			s.skip(0)
		}
	}
	if s.next() != 0 || s.at < len(s.b) {
		s.fail()
	}
}

func (e *body) read(s *scanner) {
	*e = body{}
	if s.null() {
		return
	}
	e.is = true
	for more := s.open('{'); more; more = s.more('{') {
		switch string(s.name()) {
		case "source":
			s.text(&e.source)
		case "sourceNumber":
			s.text(&e.number)
		case "sourceUuid":
			s.text(&e.uuid)
		case "sourceName":
			s.text(&e.name)
		case "sourceDevice":
			s.integer(&e.device)
		case "timestamp":
			s.integer(&e.timestamp)
		case "serverReceivedTimestamp":
			s.integer(&e.received)
		case "dataMessage":
			e.data.read(s)
		case "editMessage":
			e.edit.read(s)
		case "syncMessage":
			e.sync.read(s)
		case "receiptMessage":
			e.receipt.read(s)
		case "typingMessage":
			e.typing = s.object()
		case "callMessage":
			e.call = s.object()
		case "storyMessage":
			e.story = s.object()
		default:
			s.skip(0)
		}
	}
}
