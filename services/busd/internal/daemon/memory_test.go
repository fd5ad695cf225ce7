package daemon

import (
	"os"
	"slices"
	"testing"
)

const smaps = `00400000-0061f000 r-xp 00000000 fd:00 1234 /usr/bin/busd (deleted)
Size:               2172 kB
Rss:                1272 kB
Anonymous:             0 kB
0061f000-00882000 r--p 0021f000 fd:00 1234 /usr/bin/busd
Anonymous:             4 kB
00882000-0089a000 rw-p 00482000 fd:00 1234 /usr/bin/busd
Anonymous:             0 kB
0089a000-028d1000 r--p 00000000 00:00 0
Anonymous:             0 kB
7ffc0000-7ffd0000 r-xp 00000000 00:00 0 [vdso]
Anonymous:             0 kB
`

// Pages that a dynamic linker has changed and then protected are gone for good
// when they are given back.
func TestOnlyPagesThatWereNeverWrittenAreGivenBack(t *testing.T) {
	if got := unwritten([]byte(smaps)); !slices.Equal(got, []mapping{{0x400000, 0x61f000}}) {
		t.Errorf("%x", got)
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	if len(unwritten(text)) == 0 {
		t.Error("this process has none")
	}
	giveBack()
	giveBack()
}
