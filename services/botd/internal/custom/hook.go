package custom

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/upstream"
)

// question is what a hook is told.
type question struct {
	Command    string         `json:"command"`
	Text       string         `json:"text"` // all behind the command's name
	Args       map[string]any `json:"args"` // by parameter; a person as uuid
	Sender     string         `json:"sender"`
	SenderName string         `json:"sender_name"`
	Group      string         `json:"group"` // internal id; empty in a direct chat
	GroupName  string         `json:"group_name"`
	Timestamp  int64          `json:"timestamp"` // the message's own, milliseconds
	Lang       string         `json:"lang"`
	Admin      bool           `json:"admin"`
}

func (o Options) question(c *commandfile.Command, r command.Request) question {
	args := make(map[string]any, len(c.Params))
	for _, p := range c.Params {
		if v := r.Args[p.Name]; v.Given {
			args[p.Name] = argument(p, v)
		}
	}
	return question{
		Command: c.Name, Text: r.Text, Args: args, Sender: r.Sender, SenderName: r.Name,
		Group: r.Chat.Group, GroupName: r.Group, Timestamp: r.Sent, Lang: o.Lang.String(), Admin: r.Admin,
	}
}

var errHook = errors.New(`the answer begins with { and is no JSON of "text" and "picture"`)

// hookReply reads what a hook answers: a text, or JSON with a text, a picture in
// base64, or both. Nothing at all is an answer too: then the bot says nothing.
func (o Options) hookReply(answer []byte) (command.Reply, error) {
	answer = bytes.TrimSpace(answer)
	if len(answer) == 0 || answer[0] != '{' {
		text, err := shown(string(answer))
		return command.Reply{Text: text}, err
	}
	var a struct {
		Text    string `json:"text"`
		Picture string `json:"picture"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return command.Reply{}, errHook // the error may have words of the answer
	}
	text, err := shown(a.Text)
	if err != nil {
		return command.Reply{}, err
	}
	reply := command.Reply{Text: text}
	if a.Picture == "" {
		return reply, nil
	}
	picture, err := o.decode(a.Picture)
	if err != nil {
		return command.Reply{}, fmt.Errorf("the answer's picture: %w", err)
	}
	reply.Picture = &picture
	return reply, nil
}

func (o Options) decode(picture string) (upstream.Picture, error) {
	data, err := base64.StdEncoding.DecodeString(picture)
	if err != nil {
		return upstream.Picture{}, errors.New("is no base64")
	}
	return o.Picture(data)
}
