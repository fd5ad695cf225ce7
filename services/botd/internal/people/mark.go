package people

import "crypto/sha256"

// salt makes the marks of one bot useless to others.
type salt [16]byte

// mark is what a person is told by: half of a digest, which is more than enough
// that no two have the same.
type mark [16]byte

func (s *salt) mark(person string) mark {
	var room [128]byte // a uuid or a number has room in it
	sum := sha256.Sum256(append(append(room[:0], s[:]...), person...))
	return mark(sum[:len(mark{})])
}
