package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// answerPosts is a server as botd's for its webhook, whose handler does nothing.
func answerPosts(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("serving")
	s := &http.Server{
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }),
	}
	return s.Serve(l)
}
