// Package keyring keeps the cookies of the mechanism DBUS_COOKIE_SHA1 in the
// directory ~/.dbus-keyrings, as the D-Bus specification describes it in
// "Authentication Mechanisms".
//
// The directory is all the security there is: whoever reads it is who he
// says. So the directory (0700) and its files (0600) must belong to the
// user the process runs as and be closed to all others, and nothing is
// reached through a symbolic link. What is not so is refused, not repaired.
//
//	keyring.go  which cookie serves, and when a new one is due
//	file.go     the directory, and reading and replacing a file in it
//	lock.go     the lock that writers hold
package keyring

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"quartet/services/busd/internal/sasl"
)

const (
	// fileContext is that of servers which have none of their own. It names the
	// file.
	fileContext = "org_freedesktop_general"

	// fresh is how long a cookie is offered to clients.
	fresh = 5 * time.Minute

	// lifetime is after what time a cookie is dropped. A client that was
	// offered one at its last moment has the difference to answer.
	lifetime = 7 * time.Minute

	// ahead is by how much a cookie may be younger than the clock: it was
	// set back, and such a cookie may have been made at any time.
	ahead = 5 * time.Minute

	// maxID is the highest identifier: clients read a signed number of 32 bits.
	maxID = 1<<31 - 1

	secretBytes    = 24
	challengeBytes = 16
)

// Keyring is the cookies in one directory. Its fields are set before first
// use; its methods may be called by several goroutines.
type Keyring struct {
	// Dir is the directory, ~/.dbus-keyrings of the user that the process
	// runs as. It is made if it is missing, but not its parents. One that is
	// not absolute is nobody's home, and refused.
	Dir string

	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Cookie returns a cookie for one conversation, with a challenge of its own.
// Where none is young enough it makes a new one, for which it may wait for
// other processes' locks, seconds long: ctx bounds that.
func (k *Keyring) Cookie(ctx context.Context) (sasl.Cookie, error) {
	c, err := k.cookie(ctx)
	if err != nil {
		return sasl.Cookie{}, fmt.Errorf("cookie for DBUS_COOKIE_SHA1: %w", err)
	}
	return c, nil
}

func (k *Keyring) cookie(ctx context.Context) (sasl.Cookie, error) {
	if !filepath.IsAbs(k.Dir) {
		return sasl.Cookie{}, fmt.Errorf("this process's user has no home directory: its keyring would be %s of whichever directory it is in", k.Dir)
	}
	d, err := openDir(k.Dir)
	if err != nil {
		return sasl.Cookie{}, err
	}
	defer d.close()

	// Most conversations find a cookie that serves, and need no lock: files
	// are replaced whole.
	entries, err := d.read(fileContext)
	if err != nil {
		return sasl.Cookie{}, err
	}
	e, found := serving(entries, k.now())
	if !found {
		e, err = k.renew(ctx, d)
		if err != nil {
			return sasl.Cookie{}, err
		}
	}
	return sasl.Cookie{Context: fileContext, ID: e.id, Secret: e.secret, Challenge: random(challengeBytes)}, nil
}

// renew makes a cookie, unless another process has just done so.
func (k *Keyring) renew(ctx context.Context, d *dir) (entry, error) {
	unlock, err := d.lock(ctx, fileContext)
	if err != nil {
		return entry{}, err
	}
	defer unlock()
	entries, err := d.read(fileContext)
	if err != nil {
		return entry{}, err
	}
	now := k.now()
	if e, found := serving(entries, now); found {
		return e, nil
	}
	kept := entries[:0]
	for _, e := range entries {
		if age := now.Sub(e.made); age < lifetime && age > -ahead {
			kept = append(kept, e)
		}
	}
	e := entry{id: unused(kept), made: now, secret: random(secretBytes)}
	if err := d.replace(fileContext, append(kept, e)); err != nil {
		return entry{}, err
	}
	return e, nil
}

// serving returns a cookie that may be offered.
func serving(entries []entry, now time.Time) (entry, bool) {
	for _, e := range entries {
		if age := now.Sub(e.made); age < fresh && age > -ahead {
			return e, true
		}
	}
	return entry{}, false
}

// unused returns an identifier that no cookie has. It is random, so that one
// that was dropped does not come again soon and mislead a client.
func unused(entries []entry) uint32 {
	for {
		var b [4]byte
		rand.Read(b[:])
		id := binary.BigEndian.Uint32(b[:]) & maxID
		taken := false
		for _, e := range entries {
			taken = taken || e.id == id
		}
		if !taken {
			return id
		}
	}
}

// random returns n random bytes in hexadecimal digits.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // crypto/rand never fails: it ends the program instead
	return hex.EncodeToString(b)
}

func (k *Keyring) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}
