package ledger

import (
	"time"

	"quartet/services/botd/internal/envelope"
)

// Known reports whether a message was taken before; of an edit, whether the
// message that it edits or an earlier edit was, from whichever device, and was
// not NoCommand.
func (l *Ledger) Known(m *envelope.Message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known(KeyOf(m))
}

// Accept takes a message; fresh is false for one that was taken before. The text
// of one that is spilled is not kept here: the spill has it already. What an
// earlier life spilled is taken once more if it comes once more, for a loss of
// power may have cost its text. After an error it is not taken and must not be
// answered: journal.ErrTooLarge is about this one, any other error about all.
func (l *Ledger) Accept(m *envelope.Message, now time.Time, spilled bool) (fresh bool, err error) {
	k, at := KeyOf(m), now.UnixMilli()
	l.mu.Lock()
	if l.known(k) {
		revision := l.addRevision(m, at)
		l.mu.Unlock()
		if revision != nil {
			_ = l.write(nil, record{Key: revision.key(), State: Dropped, At: at, Of: m.Edits}) // memory has it, and the store's Err tells
		}
		return false, nil
	}
	if left := l.find(k); left != nil && spilled {
		left.text = inSpill
		l.mu.Unlock()
		return true, nil
	} else if left != nil {
		l.mu.Unlock()
		return l.Unspill(m)
	}
	if l.open >= maxOpen {
		l.mu.Unlock()
		return false, ErrTooMany
	}
	e := l.add(k, at)
	e.wait(m, spilled)
	records := []record{recordOf(e)}
	revision := l.addRevision(m, at)
	if revision != nil {
		records = append(records, recordOf(revision))
	}
	l.mu.Unlock()
	if err := l.write(nil, records...); err != nil {
		l.mu.Lock()
		l.takeBack(e, revision)
		l.mu.Unlock()
		return false, err
	}
	return true, nil
}

// Unspill takes the text of a message that comes back from the spill, which may
// forget it then. It is not wanted if it does not wait any more: it was answered
// before a crash, or deleted, or is here already. After an error the spill must
// keep it.
func (l *Ledger) Unspill(m *envelope.Message) (wanted bool, err error) {
	l.mu.Lock()
	e := l.find(KeyOf(m))
	if e == nil || e.state != waiting || e.text == here {
		l.mu.Unlock()
		return false, nil
	}
	was := e.text
	e.wait(m, false)
	r := recordOf(e)
	l.mu.Unlock()
	r.At = 0 // it is not taken anew
	err = l.write(nil, r)
	l.mu.Lock()
	state := e.state
	if err != nil && state == waiting {
		e.in, e.text = nil, was
	}
	l.mu.Unlock()
	if err == nil && state != waiting {
		// Its author deleted it meanwhile, and the journal may have that before.
		err = l.write(nil, record{Key: e.key(), State: state.State()})
		return false, err
	}
	return err == nil, err
}
