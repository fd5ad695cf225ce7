package signalnet

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"sync"
	"time"
)

const maxLinks = 64 // that wait for a scan, or were made and not finished

// links are the codes that were made for a phone to scan.
type links struct {
	mu      sync.Mutex
	last    int                 // guarded by mu
	pending map[string]*pairing // guarded by mu; by URI
}

// pairing is one code: someone scans it link_delay after it was made.
type pairing struct {
	alone bool // nobody waits for its end: the REST server does by itself

	scanned chan struct{} // closed when it is over
	failed  bool          // whether nobody scanned it; written before scanned is closed
}

func (l *links) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = map[string]*pairing{}
}

// StartLink makes a code for a phone, which is scanned link_delay later. The
// account is there from then on.
func (n *Network) StartLink(at time.Time, via, device string) (uri string, f *Failure) {
	l := &n.links
	l.mu.Lock()
	defer l.mu.Unlock()
	c := Call{Kind: "link", Via: via, Begin: at, Detail: device}
	if len(l.pending) >= maxLinks {
		f = &Failure{Class: "transient", Code: CodeIO, Text: "Link request error: too many links are open"}
		n.note(c, f)
		return "", f
	}
	l.last++
	id := sha256.Sum256(fmt.Appendf(nil, "quartet simulated link %d %d", n.Seed, l.last))
	uri = "sgnl://linkdevice?uuid=" + url.QueryEscape(base64.StdEncoding.EncodeToString(id[:16])) +
		"&pub_key=" + url.QueryEscape(base64.StdEncoding.EncodeToString(append([]byte{5}, id[:]...)))
	p := &pairing{alone: via == "rest", scanned: make(chan struct{}), failed: n.Quirks.Take("link_fail")}
	l.pending[uri] = p
	n.note(c, nil)
	time.AfterFunc(n.Quirks.Duration("link_delay"), func() { n.scan(uri, p) })
	return uri, nil
}

// scan is what the phone's owner does.
func (n *Network) scan(uri string, p *pairing) {
	n.links.mu.Lock()
	known := n.links.pending[uri] == p // not after a reset
	if known && p.alone {
		delete(n.links.pending, uri)
	}
	n.links.mu.Unlock()
	if known && !p.failed {
		n.switchOff("account_missing")
		n.note(Call{Kind: "linked", Begin: time.Now()}, nil)
	}
	p.failed = p.failed || !known
	close(p.scanned)
}

// FinishLink waits until a code is scanned and returns the account's number.
func (n *Network) FinishLink(ctx context.Context, uri string) (number string, f *Failure) {
	n.links.mu.Lock()
	p := n.links.pending[uri]
	n.links.mu.Unlock()
	if p == nil {
		return "", &Failure{Class: "bug", Code: CodeUser, Text: "Invalid device link URI: it was not made by startLink"}
	}
	select {
	case <-p.scanned:
	case <-ctx.Done():
		return "", &Failure{Class: "transient", Code: CodeIO, Text: "Link request error: Connection closed!"}
	}
	n.links.mu.Lock()
	delete(n.links.pending, uri)
	n.links.mu.Unlock()
	if p.failed {
		return "", &Failure{Class: "transient", Code: CodeIO, Text: "Link request timed out, please try again."}
	}
	return n.Number, nil
}
