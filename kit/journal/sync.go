package journal

import (
	"context"
	"fmt"
	"time"
)

// Sync returns when everything that was appended before is safe from a loss of
// power. The end of ctx ends the wait, not the sync.
func (l *Log) Sync(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.syncDone.Broadcast()
	})
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.refused()
	for target := l.end; err == nil && l.synced < target; err = l.broken {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
		l.hurry()
		l.syncDone.Wait()
	}
	if err != nil {
		return fmt.Errorf("sync journal %s: %w", l.dir, err)
	}
	return nil
}

// syncTo waits until the log is synced up to a position that is written.
func (l *Log) syncTo(p Pos) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.awaitSync(p)
}

// awaitSync is syncTo with l.mu held.
func (l *Log) awaitSync(p Pos) error {
	for l.synced < p {
		if l.broken != nil {
			return l.broken
		}
		l.hurry()
		l.syncDone.Wait()
	}
	return nil
}

// wantSync tells the goroutine that syncs that there is something to sync.
// Called with l.mu held.
func (l *Log) wantSync() {
	if !l.syncWanted {
		l.syncWanted = true
		notify(l.dirty)
	}
}

// hurry makes it sync now. Called with l.mu held.
func (l *Log) hurry() {
	l.wantSync()
	notify(l.urgent)
}

// notify leaves a token, unless one is there.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// syncLoop syncs SyncEvery after something was written, or as soon as somebody
// waits for it, until Close.
func (l *Log) syncLoop() {
	defer close(l.stopped)
	timer := time.NewTimer(l.options.SyncEvery)
	defer timer.Stop()
	for {
		select {
		case <-l.dirty:
		case <-l.closing:
			return
		}
		if !l.options.Always {
			timer.Reset(l.options.SyncEvery)
			select {
			case <-timer.C:
			case <-l.urgent:
			case <-l.closing:
				return
			}
		}
		l.syncOnce()
	}
}

// syncOnce syncs what is written. One goroutine at a time calls it: the loop,
// and Close after it.
func (l *Log) syncOnce() {
	l.mu.Lock()
	l.syncWanted = false
	from, target, names := l.synced, l.end, l.newNames
	if l.broken != nil || from >= target {
		l.mu.Unlock()
		return
	}
	l.newNames = false
	held := l.count.held[:0]
	for _, s := range l.segments[max(l.find(from), 0):] {
		held = append(held, s.hold())
	}
	l.count.held = held
	l.mu.Unlock()

	began := time.Now()
	err := l.syncFiles(held, names)
	took := time.Since(began)
	for _, s := range held {
		if closeErr := l.release(s); err == nil {
			err = closeErr
		}
	}
	l.mu.Lock()
	l.count.syncs++
	if err == nil {
		l.synced = target
	} else {
		l.breakWith(err)
	}
	l.syncDone.Broadcast()
	l.mu.Unlock()
	if l.options.OnSync != nil {
		l.options.OnSync(took, int64(target-from), err)
	}
}

func (l *Log) syncFiles(segments []*segment, names bool) error {
	for _, s := range segments {
		if err := s.file.Sync(); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
	}
	if !names {
		return nil
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// markEnd writes a mark behind the last record, so that damage of any record
// will be seen as such and not as a torn end. Only Close calls it, last.
func (l *Log) markEnd() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil || l.marked >= l.last {
		return
	}
	synced := l.beginWriting()
	b := make([]byte, markBytes)
	putMark(b, int64(synced))
	l.seed.seal(l.end, b)
	// The log is whole without it; if the disk is full, so be it.
	err := l.writeEnd(b)
	l.mu.Lock()
	if err == nil {
		l.marked = synced
		l.grow(len(b))
	}
	l.endWriting()
}
