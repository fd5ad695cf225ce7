package envelope

import "quartet/services/botd/internal/asked"

const (
	// maxAttachments is how many attachments of one message are told: as many
	// as Signal lets one have.
	maxAttachments = 32

	// maxTimestamps is how many messages of one receipt are told.
	maxTimestamps = 256
)

// list is a list of a frame that was checked: it is walked over a second time
// only for who wants what is in it.
type list struct {
	raw   []byte // with its brackets; nil when there is none
	count int
	bytes int // of the texts in it that are wanted, as they are written
}

// begin takes a null, or notes where the list begins.
func (l *list) begin(s *scanner) (start int, there bool) {
	*l = list{}
	if s.null() {
		return 0, false
	}
	return s.at, true
}

// mention is one element of mentions.
type mention struct {
	uuid, number  []byte
	start, length int64
}

func (m *mention) read(s *scanner) {
	*m = mention{}
	if s.null() {
		return
	}
	for more := s.open('{'); more; more = s.more('{') {
		switch string(s.name()) {
		case "uuid":
			s.text(&m.uuid)
		case "number":
			s.text(&m.number)
		case "start":
			s.integer(&m.start)
		case "length":
			s.integer(&m.length)
		default:
			s.skip(0)
		}
	}
}

// mentions checks a list of mentions.
func (l *list) mentions(s *scanner) {
	start, there := l.begin(s)
	if !there {
		return
	}
	var m mention
	for more := s.open('['); more; more = s.more('[') {
		m.read(s)
		l.count++
		l.bytes += len(m.uuid) + len(m.number)
	}
	l.raw = s.b[start:s.at]
}

// takeMentions makes a message's mentions out of a list of them.
func (t *texts) takeMentions(l *list) []asked.Mention {
	if l.count == 0 {
		return nil
	}
	all := make([]asked.Mention, 0, l.count)
	s := scanner{b: l.raw}
	var m mention
	for more := s.open('['); more; more = s.more('[') {
		m.read(&s)
		all = append(all, asked.Mention{Start: int(m.start), Length: int(m.length), UUID: t.take(m.uuid), Number: t.take(m.number)})
	}
	return all
}

// readID reads the id of an attachment; one that was not fetched has none.
func readID(s *scanner) (id []byte) {
	if s.null() {
		return nil
	}
	for more := s.open('{'); more; more = s.more('{') {
		if string(s.name()) == "id" {
			s.text(&id)
		} else {
			s.skip(0)
		}
	}
	return id
}

// ids checks a list of attachments, and counts those that have an id.
func (l *list) ids(s *scanner) {
	start, there := l.begin(s)
	if !there {
		return
	}
	for more := s.open('['); more; more = s.more('[') {
		if id := readID(s); len(id) > 0 && l.count < maxAttachments {
			l.count++
			l.bytes += len(id)
		}
	}
	l.raw = s.b[start:s.at]
}

// takeIDs makes the ids of a message's attachments out of a list of them.
func (t *texts) takeIDs(l *list) []string {
	if l.count == 0 {
		return nil
	}
	all := make([]string, 0, l.count)
	s := scanner{b: l.raw}
	for more := s.open('['); more && len(all) < l.count; more = s.more('[') {
		if id := readID(&s); len(id) > 0 {
			all = append(all, t.take(id))
		}
	}
	return all
}

// numbers checks a list of whole numbers.
func (l *list) numbers(s *scanner) {
	start, there := l.begin(s)
	if !there {
		return
	}
	var n int64
	for more := s.open('['); more; more = s.more('[') {
		s.integer(&n)
		l.count = min(l.count+1, maxTimestamps)
	}
	l.raw = s.b[start:s.at]
}

func takeNumbers(l *list) []int64 {
	if l.count == 0 {
		return nil
	}
	all := make([]int64, l.count)
	s := scanner{b: l.raw}
	s.open('[')
	for i := range all {
		s.integer(&all[i])
		s.more('[')
	}
	return all
}
