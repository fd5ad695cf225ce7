package jsonrpc

import (
	"context"
	"encoding/base64"
	"time"

	"quartet/sim/internal/signalnet"
)

// done answers a call that has nothing to tell. A client that goes away does
// not take its call back, so these run under the server's context.
func done(f *signalnet.Failure) (any, *rpcError) {
	if f != nil {
		return nil, &rpcError{Code: f.Code, Message: f.Text}
	}
	return map[string]any{}, nil
}

func missing(what string) (any, *rpcError) {
	return nil, &rpcError{Code: signalnet.CodeUser, Message: what + " is missing"}
}

func (c *conn) quitGroup(ctx context.Context, at time.Time, account string, p params) (any, *rpcError) {
	ids := p.list("groupId")
	if len(ids) != 1 || checkGroups(ids) != nil {
		return nil, &rpcError{Code: signalnet.CodeUser, Message: "Invalid group id"}
	}
	if f := c.server.net.Quit(context.WithoutCancel(ctx), at, "rpc", account, ids[0]); f != nil {
		return done(f)
	}
	return map[string]any{"timestamp": time.Now().UnixMilli(), "results": []any{}}, nil
}

func (c *conn) trust(ctx context.Context, at time.Time, account string, p params) (any, *rpcError) {
	people, safety := p.list("recipient"), p.text("verifiedSafetyNumber")
	switch {
	case len(people) != 1:
		return missing("recipient")
	case safety == "" && !p.flag("trustAllKnownKeys", false):
		return missing("verifiedSafetyNumber or trustAllKnownKeys")
	}
	return done(c.server.net.Trust(context.WithoutCancel(ctx), at, "rpc", account, people[0], safety))
}

func (c *conn) updateProfile(ctx context.Context, at time.Time, account string, p params) (any, *rpcError) {
	profile := c.server.net.Profile() // what is not named stays
	for _, key := range []string{"name", "givenName"} {
		if name := p.text(key); name != "" {
			profile.Name = name
		}
	}
	if family := p.text("familyName"); family != "" {
		profile.Name += " " + family
	}
	if about := p.text("about"); about != "" {
		profile.About = about
	}
	if form := p.text("avatar"); form != "" {
		_, content, err := file(form)
		if err != nil {
			return nil, &rpcError{Code: signalnet.CodeUser, Message: "Failed to read the avatar: " + err.Error()}
		}
		profile.Avatar = len(content)
	}
	return done(c.server.net.SetProfile(context.WithoutCancel(ctx), at, "rpc", account, profile))
}

func (c *conn) challenge(ctx context.Context, at time.Time, account string, p params) (any, *rpcError) {
	return done(c.server.net.Challenge(context.WithoutCancel(ctx), at, "rpc", account, p.text("challenge"), p.text("captcha")))
}

func (c *conn) getAttachment(_ context.Context, at time.Time, _ string, p params) (any, *rpcError) {
	if len(p.list("groupId"))+len(p.list("recipient")) == 0 {
		return missing("groupId or recipient")
	}
	_, content, ok := c.server.net.File("rpc", p.text("id"), at)
	if !ok {
		return nil, &rpcError{Code: signalnet.CodeUser, Message: "Could not find attachment with ID: " + p.text("id")}
	}
	return map[string]string{"data": base64.StdEncoding.EncodeToString(content)}, nil
}

func (c *conn) startLink(at time.Time) (any, *rpcError) {
	uri, f := c.server.net.StartLink(at, "rpc", "")
	if f != nil {
		return done(f)
	}
	return map[string]string{"deviceLinkUri": uri}, nil
}

func (c *conn) finishLink(ctx context.Context, p params) (any, *rpcError) {
	number, f := c.server.net.FinishLink(ctx, p.text("deviceLinkUri"))
	if f != nil {
		return done(f)
	}
	return map[string]string{"number": number}, nil
}
