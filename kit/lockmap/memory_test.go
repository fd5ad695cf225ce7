package lockmap_test

import (
	"runtime"
	"testing"
	"weak"

	"quartet/kit/lockmap"
)

func TestForgottenKeyIsGarbage(t *testing.T) {
	m := lockmap.New[*[1 << 10]byte]("test", lockmap.Options{})
	key := new([1 << 10]byte)
	lock(t, m, key)
	m.Unlock(key)
	seen := weak.Make(key)
	key = nil
	runtime.GC()
	if seen.Value() != nil {
		t.Error("the map keeps a key that is neither held nor awaited")
	}
	runtime.KeepAlive(m)
}

func TestBurstOfKeysLeavesLittleMemoryBehind(t *testing.T) {
	const n = 200_000 // tens of megabytes while they are held
	m := lockmap.New[int]("test", lockmap.Options{})
	before := heap()
	for key := range n {
		m.TryLock(key)
	}
	held := heap() - before
	for key := range n {
		m.Unlock(key)
	}
	checkIdle(t, m)
	if left := heap() - before; left > held/10 {
		t.Errorf("%d bytes are left of %d", left, held)
	}
	runtime.KeepAlive(m)
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
