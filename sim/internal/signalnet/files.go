package signalnet

import (
	"fmt"
	"mime"
	"slices"
	"sync"
	"time"
)

// Bounds of the store of received attachments.
const (
	maxStoredFile = 8 << 20
	maxStored     = 10_000 // the oldest go first; their content is made when it is asked for
)

// files is signal-cli's folder of received attachments, in which they stay
// until somebody deletes them.
type files struct {
	mu    sync.Mutex
	last  int                 // guarded by mu
	kept  map[string]FileSpec // guarded by mu
	order []string            // guarded by mu; oldest first; may name deleted ones
}

func (f *files) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept, f.order = map[string]FileSpec{}, nil
}

// add gives a file an id, and stores it unless it is not to be kept.
func (f *files) add(file FileSpec, keep bool) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	id := fmt.Sprintf("sim%017d%s", f.last, ExtensionOf(file.ContentType))
	if !keep {
		return id
	}
	f.kept[id] = file
	f.order = append(f.order, id)
	for len(f.kept) > maxStored {
		delete(f.kept, f.order[0])
		f.order = f.order[1:]
	}
	if len(f.order) > 2*maxStored { // most of them deleted
		f.order = slices.DeleteFunc(slices.Clone(f.order), func(id string) bool { _, kept := f.kept[id]; return !kept })
	}
	return id
}

// ids returns the stored files, oldest first.
func (f *files) ids() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]string, 0, len(f.kept))
	for _, id := range f.order {
		if _, kept := f.kept[id]; kept {
			list = append(list, id)
		}
	}
	return list
}

func (f *files) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.kept)
}

// content returns a file; false when it is not stored.
func (f *files) content(id string) (kind string, content []byte, ok bool) {
	f.mu.Lock()
	file, ok := f.kept[id]
	f.mu.Unlock()
	if !ok {
		return "", nil, false
	}
	content = make([]byte, file.Bytes)
	copy(content, magic(file.ContentType))
	return file.ContentType, content, true
}

func (f *files) remove(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, known := f.kept[id]
	delete(f.kept, id)
	return known
}

// magic is how files of a type begin.
func magic(kind string) string {
	switch kind {
	case "image/jpeg":
		return "\xff\xd8\xff\xe0"
	case "image/png":
		return "\x89PNG\r\n\x1a\n"
	default:
		return ""
	}
}

// ExtensionOf is the extension of a file's name by its type, "" for an unknown one.
func ExtensionOf(kind string) string {
	if kind == "image/jpeg" { // the table of the system may put .jfif first
		return ".jpg"
	}
	if known, _ := mime.ExtensionsByType(kind); len(known) > 0 {
		return known[0]
	}
	return ""
}

// StoredFiles returns the ids of the received attachments that are stored.
func (n *Network) StoredFiles() []string { return n.files.ids() }

// File returns a stored attachment; false when it is not there.
func (n *Network) File(via, id string, began time.Time) (kind string, content []byte, ok bool) {
	kind, content, ok = n.files.content(id)
	c := Call{Kind: "attachment", Via: via, Begin: began, Detail: id}
	if !ok {
		n.note(c, noFile())
		return "", nil, false
	}
	n.FilesRead.Add(1)
	n.note(c, nil)
	return kind, content, true
}

// DeleteFile deletes a stored attachment; false when it is not there.
func (n *Network) DeleteFile(via, id string, began time.Time) bool {
	c := Call{Kind: "attachment_delete", Via: via, Begin: began, Detail: id}
	if !n.files.remove(id) {
		n.note(c, noFile())
		return false
	}
	n.FilesDeleted.Add(1)
	n.note(c, nil)
	return true
}

func noFile() *Failure {
	return &Failure{Class: "not_found", Code: CodeUser, Text: "Could not find attachment"}
}
