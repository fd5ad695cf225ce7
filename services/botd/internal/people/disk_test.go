package people_test

import (
	"bytes"
	"path"
	"testing"

	"quartet/kit/journal/powerloss"
	"quartet/services/botd/internal/people"
)

// No file ever has a uuid. After somebody is forgotten none has their mark
// either, but for the list of those who opted out.
func TestWhatIsOnTheDiskOfSomebody(t *testing.T) {
	for name, c := range map[string]struct {
		forget func(*people.People) error
		marked bool
	}{
		"nothing": {func(*people.People) error { return nil }, true},
		"forget":  {func(p *people.People) error { return p.Forget(ala) }, false},
		"opt out": {func(p *people.People) error { return p.OptOut(ala) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := begin(t, powerloss.New())
			for n := range 50 {
				l.count(t, ala, n+1)
			}
			must(t, c.forget(l.people))
			l.count(t, ela, 1)
			mark, err := json(l.people.Mark(ala))
			must(t, err)
			marked := false
			for file, content := range files(t, l.fs) {
				for _, person := range []string{ala, ela, ala[:8]} {
					if bytes.Contains(content, []byte(person)) {
						t.Errorf("%s has a uuid", file)
					}
				}
				marked = marked || bytes.Contains(content, mark)
			}
			if marked != c.marked {
				t.Errorf("the mark is there: %t", marked)
			}
		})
	}
}

// files is what is on a disk.
func files(t *testing.T, fs *powerloss.FS) map[string][]byte {
	t.Helper()
	names, err := fs.List("state")
	must(t, err)
	all := make(map[string][]byte)
	for _, name := range names {
		f, err := fs.Open(path.Join("state", name))
		must(t, err)
		size, err := f.Size()
		must(t, err)
		content := make([]byte, size)
		if size > 0 {
			_, err = f.ReadAt(content, 0)
			must(t, err)
		}
		must(t, f.Close())
		all[name] = content
	}
	if len(all) == 0 {
		t.Fatal("nothing is on the disk")
	}
	return all
}

// What is forgotten is not in the account that replaces the journal.
func TestAccountHasNothingOfTheForgotten(t *testing.T) {
	p := inMemory()
	p.Count(ala)
	p.Count(ela)
	mark, _ := json(p.Mark(ala))
	must(t, p.Forget(ala))
	must(t, p.Dump(func(data []byte) error {
		if bytes.Contains(data, mark) {
			t.Errorf("the account has %s", data)
		}
		return nil
	}))
}

// Two bots tell the same person by different marks.
func TestMarksAreOfOneBot(t *testing.T) {
	if bytes.Equal(inMemory().Mark(ala), inMemory().Mark(ala)) {
		t.Error("two bots have the same salt")
	}
	l := begin(t, powerloss.New())
	l.count(t, ala, 1)
	mark := l.people.Mark(ala)
	if l = l.killed(t); !bytes.Equal(mark, l.people.Mark(ala)) {
		t.Error("the salt changed with a restart")
	}
}

// The first records after a kill are the first that the disk has, and a salt with them.
func TestSaltIsThereWithWhateverIsWrittenFirst(t *testing.T) {
	l := begin(t, powerloss.New())
	l.people.Count(ala) // never written
	l.count(t, ela, 1)
	l = l.killed(t)
	uses(t, l.people, ela, 1)
	uses(t, l.people, ala, 0)
	l = begin(t, powerloss.New())
	must(t, l.people.OptIn(ala))
	must(t, l.people.OptOut(ala))
	if l = l.killed(t); !l.people.OptedOut(ala) {
		t.Error("the restart forgot who opted out")
	}
}
