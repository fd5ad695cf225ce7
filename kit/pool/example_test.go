package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"quartet/kit/pool"
)

// One client per peer; every call is reported once, when its body is done.
func ExampleClient() {
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello")
	}))
	defer peer.Close()

	c := pool.New("greeter", pool.Options{
		MaxConns: 8, // as many calls as the caller makes at once
		Start: func(ctx context.Context, operation string) (context.Context, func(pool.Call)) {
			return ctx, func(got pool.Call) {
				fmt.Println(operation, got.Status, got.BytesIn, "bytes, reused:", got.Reused)
			}
		},
	})
	defer c.CloseIdle()
	for range 2 {
		req, err := http.NewRequest(http.MethodGet, peer.URL, nil)
		if err != nil {
			panic(err)
		}
		resp, err := c.Do("greet", req)
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	// Output:
	// greet 200 5 bytes, reused: false
	// greet 200 5 bytes, reused: true
}

// After a failed write the caller must know whether it may have happened.
func ExampleErrUnsent() {
	c := pool.New("sender", pool.Options{})
	req, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:1", strings.NewReader("message"))
	if err != nil {
		panic(err)
	}
	switch _, err := c.Do("send", req); {
	case err == nil:
		fmt.Println("sent")
	case errors.Is(err, pool.ErrUnsent):
		fmt.Println("not sent: may be tried again")
	default:
		fmt.Println("unknown: do not try again")
	}
	// Output: not sent: may be tried again
}

func ExampleCache() {
	lookups := 0
	names := pool.NewCache("names", pool.CacheOptions{
		TTL:         time.Minute,
		NegativeTTL: time.Second, // a peer that is down is asked once a second
		StaleFor:    time.Hour,   // and its old answers serve meanwhile
		Jitter:      0.1,
	}, func(ctx context.Context, id int) (string, error) {
		lookups++
		return fmt.Sprint("user ", id), nil
	})
	defer names.Close()
	for range 3 {
		name, err := names.Get(context.Background(), 7)
		fmt.Println(name, err)
	}
	fmt.Println(lookups, "lookup")
	// Output:
	// user 7 <nil>
	// user 7 <nil>
	// user 7 <nil>
	// 1 lookup
}
