package custom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"quartet/services/botd/internal/command"
	"quartet/services/botd/internal/commandfile"
	"quartet/services/botd/internal/upstream"
)

// maxHook is how many bytes a hook may answer, a picture in base64 included.
const maxHook = upstream.MaxPicture

// caller asks a web server.
type caller struct {
	options Options
	of      *commandfile.Command
	http    *commandfile.HTTP
	header  http.Header
	hosts   upstream.Hosts
}

// newCaller makes what a command with an address runs.
func (o Options) newCaller(c *commandfile.Command) (run, error) {
	values, secretErr := settings(c.HTTP.Header)
	h := &caller{options: o, of: c, http: c.HTTP, header: make(http.Header)}
	for name, value := range values {
		h.header.Set(name, value)
	}
	own, err := address(c.HTTP.URL, nil, command.Request{})
	if err != nil {
		return nil, errors.Join(secretErr, err)
	}
	if h.hosts, err = upstream.ParseHosts(append([]string{own.Host}, c.HTTP.Redirects...)); err != nil || secretErr != nil {
		return nil, errors.Join(secretErr, err)
	}
	if c.HTTP.As == commandfile.AsHook {
		h.header.Set("Content-Type", "application/json")
	}
	return h.run, nil
}

// run asks and shows what comes.
func (h *caller) run(ctx context.Context, r command.Request) (command.Reply, error) {
	u, err := address(h.http.URL, h.of.Params, r)
	if err != nil {
		return command.Reply{}, err
	}
	req := upstream.FetchRequest{Method: h.http.Method, URL: u.String(), Header: h.header, Hosts: h.hosts}
	switch h.http.As {
	case commandfile.AsPicture:
		return h.picture(ctx, req, u)
	case commandfile.AsJSON:
		return h.json(ctx, req)
	case commandfile.AsHook:
		return h.hook(ctx, req, r)
	}
	req.MaxBody = commandfile.MaxText
	body, err := h.options.Fetcher.Fetch(ctx, req)
	if err != nil {
		return command.Reply{}, err
	}
	return textReply(string(body))
}

// textReply is an answer that must have a text.
func textReply(text string) (command.Reply, error) {
	text, err := shown(text)
	if err == nil && text == "" {
		err = errEmpty
	}
	return command.Reply{Text: text}, err
}

// json shows a part of the answer.
func (h *caller) json(ctx context.Context, req upstream.FetchRequest) (command.Reply, error) {
	v, err := h.value(ctx, req)
	if err != nil {
		return command.Reply{}, err
	}
	if h.http.Path != nil {
		text, err := lookup(v, h.http.Path)
		if err != nil {
			return command.Reply{}, err
		}
		return textReply(text)
	}
	var errs []error
	text := h.http.Template.Fill(func(path string) string {
		part, err := lookup(v, strings.Split(path, "."))
		errs = append(errs, err)
		return part
	})
	if err := errors.Join(errs...); err != nil {
		return command.Reply{}, err
	}
	return textReply(text)
}

func (h *caller) value(ctx context.Context, req upstream.FetchRequest) (any, error) {
	body, err := h.options.Fetcher.Fetch(ctx, req)
	if err != nil {
		return nil, err
	}
	return readJSON(body)
}

// picture shows a picture: the answer itself, or the one whose address it has.
func (h *caller) picture(ctx context.Context, req upstream.FetchRequest, u *url.URL) (command.Reply, error) {
	if h.http.Path != nil {
		v, err := h.value(ctx, req)
		if err != nil {
			return command.Reply{}, err
		}
		place, err := lookup(v, h.http.Path)
		if err != nil {
			return command.Reply{}, err
		}
		there, err := u.Parse(place)
		if err != nil {
			return command.Reply{}, errors.New("the answer has no address of a picture")
		}
		if there.Host != u.Host || there.Scheme != u.Scheme {
			req.Header = nil // may have a key, which is for that server and for nobody on the way
		}
		req.Method, req.URL = http.MethodGet, there.String()
	}
	p, err := h.options.Fetcher.Picture(ctx, req)
	if err != nil {
		return command.Reply{}, err
	}
	return command.Reply{Picture: &p}, nil
}

// hook posts who asks for what.
func (h *caller) hook(ctx context.Context, req upstream.FetchRequest, r command.Request) (command.Reply, error) {
	body, err := json.Marshal(h.options.question(h.of, r))
	if err != nil {
		return command.Reply{}, fmt.Errorf("write what was asked: %w", err)
	}
	req.Body, req.MaxBody = body, maxHook
	answer, err := h.options.Fetcher.Fetch(ctx, req)
	if err != nil {
		return command.Reply{}, err
	}
	return h.options.hookReply(answer)
}
