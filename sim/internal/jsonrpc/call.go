package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"quartet/sim/internal/signalnet"
)

// holdFor is how long out_of_order holds an answer back at most.
const holdFor = 50 * time.Millisecond

// maxSubscriptions bounds the subscriptions a connection ever makes.
const maxSubscriptions = 1024

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
	ID      json.RawMessage `json:"id"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

func (e *rpcError) Error() string { return e.Message }

// handle answers a line, read at: a call or a batch of calls.
func (c *conn) handle(ctx context.Context, at time.Time, line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] == '[' {
		c.batch(ctx, at, line)
		return
	}
	if answer := c.call(ctx, at, line); answer != nil {
		body, _ := json.Marshal(answer) // results are built here and always encode
		c.answer(ctx, body)
	}
}

func (c *conn) batch(ctx context.Context, at time.Time, line []byte) {
	var lines []json.RawMessage
	if json.Unmarshal(line, &lines) != nil || len(lines) == 0 || len(lines) > maxCalls {
		body, _ := json.Marshal(refuse(nil, signalnet.CodeRequest, "invalid batch"))
		c.answer(ctx, body)
		return
	}
	answers := make([]*response, len(lines))
	var wg sync.WaitGroup
	for i, one := range lines {
		wg.Go(func() { answers[i] = c.call(ctx, at, one) })
	}
	wg.Wait()
	told := make([]*response, 0, len(answers))
	for _, a := range answers {
		if a != nil {
			told = append(told, a)
		}
	}
	if len(told) > 0 {
		body, _ := json.Marshal(told)
		c.answer(ctx, body)
	}
}

// call answers one call; nil for a notification, or one that is never answered.
func (c *conn) call(ctx context.Context, at time.Time, text []byte) *response {
	var req request
	err := json.Unmarshal(text, &req)
	if err != nil && !json.Valid(text) {
		return refuse(nil, signalnet.CodeParse, "unable to parse the request")
	}
	if err != nil || req.Version != "2.0" || req.Method == "" {
		return refuse(req.ID, signalnet.CodeRequest, "invalid request")
	}
	p, err := parseParams(req.Params)
	if err != nil {
		return refuse(req.ID, signalnet.CodeRequest, err.Error())
	}
	result, fault := c.dispatch(ctx, at, req.Method, p)
	if len(req.ID) == 0 || result == nil && fault == nil {
		return nil
	}
	if fault != nil {
		return &response{Version: "2.0", Error: fault, ID: req.ID}
	}
	return &response{Version: "2.0", Result: result, ID: req.ID}
}

func refuse(id json.RawMessage, code int, text string) *response {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return &response{Version: "2.0", Error: &rpcError{Code: code, Message: text}, ID: id}
}

// dispatch runs a method. Neither a result nor an error: it is never answered.
func (c *conn) dispatch(ctx context.Context, at time.Time, method string, p params) (any, *rpcError) {
	n := c.server.net
	switch method { // those that need no account
	case "version":
		return map[string]string{"version": "0.14.6"}, nil
	case "listAccounts":
		return c.listAccounts(ctx, at)
	case "startLink":
		return c.startLink(at)
	case "finishLink":
		return c.finishLink(ctx, p)
	}
	account := p.text("account")
	if account == "" {
		account = n.Number
	}
	if !n.HasAccount(account) {
		return nil, &rpcError{Code: signalnet.CodeParams, Message: "Specified account does not exist"}
	}
	if run := methods[method]; run != nil {
		return run(c, ctx, at, account, p)
	}
	return nil, &rpcError{Code: signalnet.CodeMethod, Message: "Method not implemented"}
}

// methods are those that need an account.
var methods = map[string]func(c *conn, ctx context.Context, at time.Time, account string, p params) (any, *rpcError){
	"send":                     (*conn).send,
	"sendReaction":             shows(reaction),
	"sendTyping":               shows(typing),
	"sendReceipt":              shows(receipt),
	"remoteDelete":             shows(remoteDelete),
	"listGroups":               (*conn).listGroups,
	"quitGroup":                (*conn).quitGroup,
	"listIdentities":           (*conn).listIdentities,
	"trust":                    (*conn).trust,
	"updateProfile":            (*conn).updateProfile,
	"submitRateLimitChallenge": (*conn).challenge,
	"getAttachment":            (*conn).getAttachment,
	"subscribeReceive":         (*conn).subscribeReceive,
	"unsubscribeReceive":       (*conn).unsubscribeReceive,
	"receive":                  (*conn).receive,
}

func shows(read func(params) (signalnet.Sign, error)) func(*conn, context.Context, time.Time, string, params) (any, *rpcError) {
	return func(c *conn, ctx context.Context, at time.Time, account string, p params) (any, *rpcError) {
		return c.show(ctx, at, account, p, read)
	}
}

func (c *conn) subscribeReceive(context.Context, time.Time, string, params) (any, *rpcError) {
	if c.count() >= maxSubscriptions {
		return nil, &rpcError{Code: signalnet.CodeInternal, Message: "too many subscriptions"}
	}
	return c.subscribe(), nil
}

func (c *conn) unsubscribeReceive(_ context.Context, _ time.Time, _ string, p params) (any, *rpcError) {
	id, ok := p.number("subscription")
	if !ok || !c.unsubscribe(int(id)) {
		return nil, &rpcError{Code: signalnet.CodeRequest, Message: "Unknown subscription id"}
	}
	return map[string]any{}, nil
}

func (c *conn) receive(context.Context, time.Time, string, params) (any, *rpcError) {
	return nil, &rpcError{Code: signalnet.CodeRequest, Message: "Receive command cannot be used if messages are already being received."}
}

// answer writes an answer; with out_of_order, after the next one.
func (c *conn) answer(ctx context.Context, body []byte) {
	if !c.server.net.Quirks.On("out_of_order") {
		_ = c.write(ctx, body) // a client that left misses it
		return
	}
	c.mu.Lock()
	earlier := c.held
	if earlier == nil {
		c.held = body
	} else {
		c.held = nil
	}
	c.mu.Unlock()
	if earlier != nil {
		_ = c.write(ctx, body)
		_ = c.write(ctx, earlier)
		return
	}
	timer := time.NewTimer(holdFor)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	c.mu.Lock()
	// Only this answer's own hold is ours to end: bodies are compared by where they lie.
	ours := len(c.held) > 0 && &c.held[0] == &body[0]
	if ours {
		c.held = nil
	}
	c.mu.Unlock()
	if ours {
		_ = c.write(ctx, body)
	}
}
