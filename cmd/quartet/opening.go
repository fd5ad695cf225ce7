package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// chatGroup is the id of the group on simsignal's chat page: bytes 0 to 31.
const chatGroup = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// message is what simsignal takes under /_sim/frames.
type message struct {
	Text   string `json:"text"`
	Sender string `json:"sender"`
	Name   string `json:"name"`
	Group  string `json:"group"`
}

// opening is what two of the synthetic people write as soon as all is ready:
// their chatter is random, and whoever looks should not have to wait for it.
var opening = []message{
	{"!pomoc", "11111111-1111-4111-8111-111111111111", "Ala", chatGroup},
	{"!kot", "22222222-2222-4222-8222-222222222222", "Bartek", chatGroup},
}

// open has simsignal at base emit the opening.
func open(ctx context.Context, base string) error {
	body, err := json.Marshal(opening)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/_sim/frames?spacing=500ms", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Errorf("%s answers %s: %s", req.URL, resp.Status, text)
	}
	return nil
}
