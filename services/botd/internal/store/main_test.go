package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"quartet/kit/journal/disk"
	"quartet/services/botd/internal/store"
)

const dir = "state"

var onDisk = store.Options{Dir: dir}

// book keeps a word for each name.
type book struct {
	letter byte
	store  *store.Store

	mu    sync.Mutex
	words map[string]string
}

func newBook(s *store.Store, letter byte) *book {
	return &book{letter: letter, store: s, words: map[string]string{}}
}

func (b *book) Letter() byte { return b.letter }

func (b *book) Apply(data []byte) error {
	name, word, ok := strings.Cut(string(data), "=")
	if !ok {
		return errors.New("no word")
	}
	b.put(name, word)
	return nil
}

func (b *book) Dump(add func([]byte) error) error {
	for name, word := range b.all() {
		if err := add([]byte(name + "=" + word)); err != nil {
			return err
		}
	}
	return nil
}

func (b *book) put(name, word string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.words[name] = word; word == "" {
		delete(b.words, name)
	}
}

func (b *book) all() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.words)
}

// change puts a word in memory and returns what writes it down; no word erases.
func (b *book) change(name, word string) store.Record {
	b.put(name, word)
	return store.Record{Book: b.letter, Data: []byte(name + "=" + word)}
}

// pair is a store with two books.
type pair struct {
	*store.Store
	a, b *book
}

func tryOpen(fs disk.FS, o store.Options) (*pair, error) {
	s := store.New(fs, o)
	p := &pair{s, newBook(s, 'a'), newBook(s, 'b')}
	return p, s.Open(p.a, p.b)
}

func open(t *testing.T, fs disk.FS, o store.Options) *pair {
	t.Helper()
	p, err := tryOpen(fs, o)
	must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantWords(t *testing.T, b *book, want map[string]string) {
	t.Helper()
	if got := b.all(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("book %c has %v, want %v", b.letter, got, want)
	}
}

// wantNowhere fails if a file of the store has that text.
func wantNowhere(t *testing.T, fs disk.FS, text string) {
	t.Helper()
	names, err := fs.List(dir)
	must(t, err)
	for _, name := range names {
		f, err := fs.Open(filepath.Join(dir, name))
		must(t, err)
		size, err := f.Size()
		must(t, err)
		content := make([]byte, size)
		if _, err := f.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		must(t, f.Close())
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("%s has %q", name, text)
		}
	}
}
