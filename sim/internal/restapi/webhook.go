package restapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"quartet/sim/internal/signalnet"
)

// maxAnswer bounds what is read of the answer to a post, in bytes; what is
// longer costs the connection.
const maxAnswer = 64 << 10

// webhook posts frames as RECEIVE_WEBHOOK_URL makes the real server do: after
// the websockets got the frame, one at a time, without a time limit and once.
// What is not answered by 200 or 201 is lost.
type webhook struct {
	api     *API
	url     string
	client  *http.Client
	log     *slog.Logger
	refused bool // the last post was lost; owned by the receive thread
}

// PostTo has every frame, whatever its account, posted to an http or https
// address. It is called once, before frames are emitted; stop drops the idle
// connections and is called after the last frame.
func (a *API) PostTo(address string, log *slog.Logger) (stop func(), err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("webhook: not an address") // the error would show the address, which may hold a secret
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("webhook: want an http:// or https:// address")
	}
	transport := &http.Transport{}
	h := &webhook{api: a, url: address, client: &http.Client{Transport: transport}, log: log}
	a.net.SubscribeWebhook(h.take)
	return transport.CloseIdleConnections, nil
}

// take is the subscriber: it returns when the post is over.
func (h *webhook) take(ctx context.Context, f signalnet.Frame) error {
	if !h.api.ear.lock(ctx) {
		return signalnet.ErrRefused
	}
	defer h.api.ear.unlock()
	err := h.post(ctx, append(f.Line(), '\n'))
	if err == nil {
		h.refused = false
		h.api.net.Posted.Add(1)
		return nil
	}
	if !h.refused {
		h.refused = true
		h.log.LogAttrs(ctx, slog.LevelWarn, "the webhook does not take frames; they are lost", slog.Any("err", err))
	}
	return signalnet.ErrRefused
}

func (h *webhook) post(ctx context.Context, line []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(line))
	if err != nil {
		return fmt.Errorf("post a frame: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := h.client.Do(req)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // without the address, which may hold a secret
		}
		return fmt.Errorf("post a frame: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("post a frame: answered %d", resp.StatusCode)
	}
	return nil
}

// hear waits until the server reads signal-cli's answer to a call: it has one
// reader for frames and answers, which does nothing else while a post is open.
// Who waits comes before the next frame. It ends early when the client leaves.
func (a *API) hear(ctx context.Context) {
	if a.ear.lock(ctx) {
		a.ear.unlock()
	}
}
