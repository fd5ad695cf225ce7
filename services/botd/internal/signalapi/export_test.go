package signalapi

import (
	"context"
	"net"
	"net/http"
)

// DialWith lets the websocket be opened over connections of a test's making.
func (c *Client) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	c.dialer = &http.Client{Transport: &http.Transport{DialContext: dial}}
}

// The readers of answers.
var (
	ParseReceipt = parseReceipt
	Refused      = refused
)
