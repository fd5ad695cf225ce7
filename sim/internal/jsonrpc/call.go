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

// handle answers a line: a call or a batch of calls.
func (c *conn) handle(ctx context.Context, line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if line[0] == '[' {
		c.batch(ctx, line)
		return
	}
	if answer := c.call(ctx, line); answer != nil {
		body, _ := json.Marshal(answer) // results are built here and always encode
		c.answer(ctx, body)
	}
}

func (c *conn) batch(ctx context.Context, line []byte) {
	var lines []json.RawMessage
	if json.Unmarshal(line, &lines) != nil || len(lines) == 0 || len(lines) > maxCalls {
		body, _ := json.Marshal(refuse(nil, signalnet.CodeRequest, "invalid batch"))
		c.answer(ctx, body)
		return
	}
	answers := make([]*response, len(lines))
	var wg sync.WaitGroup
	for i, one := range lines {
		wg.Go(func() { answers[i] = c.call(ctx, one) })
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
func (c *conn) call(ctx context.Context, text []byte) *response {
	at := time.Now()
	if !json.Valid(text) {
		return refuse(nil, signalnet.CodeParse, "unable to parse the request")
	}
	var req request
	if json.Unmarshal(text, &req) != nil || req.Version != "2.0" || req.Method == "" {
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
	switch method {
	case "version":
		return map[string]string{"version": "0.14.6"}, nil
	case "listAccounts":
		return c.listAccounts(ctx, at)
	}
	account := p.text("account")
	if account == "" {
		account = n.Number
	}
	if !n.HasAccount(account) {
		return nil, &rpcError{Code: signalnet.CodeParams, Message: "Specified account does not exist"}
	}
	switch method {
	case "send":
		return c.send(ctx, at, account, p)
	case "sendReaction":
		return c.show(ctx, at, account, p, reaction)
	case "sendTyping":
		return c.show(ctx, at, account, p, typing)
	case "sendReceipt":
		return c.show(ctx, at, account, p, receipt)
	case "listGroups":
		return c.listGroups(ctx, at)
	case "subscribeReceive":
		if c.count() >= maxSubscriptions {
			return nil, &rpcError{Code: signalnet.CodeInternal, Message: "too many subscriptions"}
		}
		return c.subscribe(), nil
	case "unsubscribeReceive":
		id, ok := p.number("subscription")
		if !ok || !c.unsubscribe(int(id)) {
			return nil, &rpcError{Code: signalnet.CodeRequest, Message: "Unknown subscription id"}
		}
		return map[string]any{}, nil
	case "receive":
		return nil, &rpcError{Code: signalnet.CodeRequest, Message: "Receive command cannot be used if messages are already being received."}
	default:
		return nil, &rpcError{Code: signalnet.CodeMethod, Message: "Method not implemented"}
	}
}

func (c *conn) listAccounts(ctx context.Context, at time.Time) (any, *rpcError) {
	n := c.server.net
	if n.Latency.Wait(ctx, signalnet.Accounts, at) != nil {
		return nil, nil
	}
	list := []map[string]string{}
	if n.HasAccount(n.Number) {
		list = append(list, map[string]string{"number": n.Number})
	}
	return list, nil
}

func (c *conn) listGroups(ctx context.Context, at time.Time) (any, *rpcError) {
	n := c.server.net
	if n.Latency.Wait(ctx, signalnet.Groups, at) != nil {
		return nil, nil
	}
	list := []map[string]any{}
	for _, g := range n.Groups {
		list = append(list, map[string]any{
			"id": g.ID, "name": g.Name, "description": "", "isMember": true, "isBlocked": false, "messageExpirationTime": 0,
			"members": []any{map[string]any{"number": n.Number, "uuid": nil, "isAdmin": false}}, "pendingMembers": []any{},
			"requestingMembers": []any{}, "admins": []any{}, "banned": []any{}, "permissionAddMember": "EVERY_MEMBER",
			"permissionEditDetails": "EVERY_MEMBER", "permissionSendMessage": "EVERY_MEMBER", "groupInviteLink": nil,
		})
	}
	return list, nil
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
