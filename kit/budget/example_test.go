package budget_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quartet/kit/budget"
)

func ExampleBudget_Acquire() {
	slots := budget.New("slots", 2, budget.Options{Reclaim: true})
	lease, err := slots.Acquire(context.Background(), 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release()
	fmt.Println(slots.Stats().InUse, "of", slots.Stats().Capacity)

	_, err = slots.Acquire(context.Background(), 3)
	fmt.Println(err, errors.Is(err, budget.ErrTooLarge))
	// Output:
	// 1 of 2
	// budget slots: 3 of 2 units: more than the capacity true
}

// The loop waits while both slots are taken, so that there are never more than
// two goroutines however many tasks there are.
func ExampleBudget_Go() {
	slots := budget.New("slots", 2, budget.Options{})
	ctx := context.Background()
	squares := make(chan int, 5)
	for i := range 5 {
		if err := slots.Go(ctx, 1, func() { squares <- i * i }); err != nil {
			fmt.Println(err)
		}
	}
	if err := slots.Drain(ctx); err != nil { // all have ended
		fmt.Println(err)
	}
	close(squares)
	sum := 0
	for s := range squares {
		sum += s
	}
	fmt.Println(sum)
	// Output: 30
}

// A loop that may not allocate pairs Take and Give itself.
func ExampleBudget_Take() {
	bytes := budget.New("bytes", 1<<20, budget.Options{
		OnWait: func(_ context.Context, waited time.Duration) { fmt.Println("waited", waited) },
	})
	ctx := context.Background()
	for _, size := range []int64{1000, 0, 50_000} {
		if err := bytes.Take(ctx, size); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(bytes.Stats().InUse)
		bytes.Give(size)
	}
	// Output:
	// 1000
	// 0
	// 50000
}
