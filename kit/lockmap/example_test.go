package lockmap_test

import (
	"context"
	"errors"
	"fmt"

	"quartet/kit/lockmap"
)

// The messages of one sender are handled one after the other.
func Example() {
	senders := lockmap.New[string]("sender", lockmap.Options{MaxWaiters: 2})
	ctx := context.Background()

	if err := senders.Lock(ctx, "alice"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("bob is free:", senders.TryLock("bob"))
	fmt.Println("alice is free:", senders.TryLock("alice"))
	senders.Unlock("bob")
	senders.Unlock("alice")
	fmt.Println("entries left:", senders.Stats().Entries)
	// Output:
	// bob is free: true
	// alice is free: false
	// entries left: 0
}

// A reader that must not block queues what comes, in order and up to a cap.
func ExampleMap_Queue() {
	senders := lockmap.New[string]("sender", lockmap.Options{MaxWaiters: 2})
	for _, text := range []string{"first", "second", "third", "fourth"} {
		err := senders.Queue("alice", func() { fmt.Println("handling", text) })
		if errors.Is(err, lockmap.ErrBusy) {
			fmt.Println("refusing", text)
		}
	}
	for range 3 { // as each handler would when it is done
		senders.Unlock("alice")
	}
	// Output:
	// handling first
	// refusing fourth
	// handling second
	// handling third
}
