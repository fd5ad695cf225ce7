package signalnet

import (
	"time"

	"quartet/sim/internal/quirk"
)

// Quirks returns the switches of the simulated Signal side with the defaults
// of the real server, where it has the behaviour at all.
func Quirks() *quirk.Set {
	defs := []quirk.Def{
		// Receiving.
		{Name: "drop_when_busy", Kind: quirk.Switch, Default: true, Doc: "A frame goes to a websocket through an unbuffered channel without waiting: a websocket goroutine that is not ready at that instant loses it. Off: the sender waits, nothing is lost."},
		{Name: "busy_grace", Kind: quirk.Duration, Default: 100 * time.Millisecond, Doc: "Frames of a stream spaced by 1 ms or more wait for a busy websocket goroutine before they are dropped, as long as this allowance of the socket lasts (it grows by 2 % of the time): the real server loses nothing at that pace, and a hiccup of this machine shall not look like its loss. A client that does not read has used it up at once and loses as before; a burst has none. 0 = never wait."},
		{Name: "shared_write_lock", Kind: quirk.Switch, Default: true, Doc: "All websockets write under one process-wide lock without a deadline: one stuck client starves the others. Off: a lock and a 10 s deadline each."},
		{Name: "ping_period", Kind: quirk.Duration, Default: 54 * time.Second, Doc: "How often a websocket is pinged; a missing pong has no consequence. Read when a socket connects; 0 = never."},
		{Name: "read_limit", Kind: quirk.Number, Default: int64(512), Doc: "Bytes a client may send in one websocket message; more closes it with 1009."},
		{Name: "register_delay", Kind: quirk.Duration, Doc: "Time between the 101 answer and the moment from which the websocket gets frames; those in between are lost."},
		{Name: "number_null", Kind: quirk.Switch, Doc: "sourceNumber is null in every frame (the sender hides the number)."},
		{Name: "duplicate_frames", Kind: quirk.Count, Doc: "The next N frames are emitted twice."},
		{Name: "exception_only", Kind: quirk.Count, Doc: "The next N frames carry an exception and no envelope."},
		{Name: "error_frames", Kind: quirk.Count, Doc: "The next N frames are {\"error\": text} instead."},
		{Name: "wrong_number_is_silent", Kind: quirk.Fixed, Doc: "A websocket for an unknown number gets 101 and then silence."},
		{Name: "every_socket_gets_every_frame", Kind: quirk.Fixed, Doc: "Two open sockets each get every frame."},
		{Name: "out_of_order", Kind: quirk.Switch, Doc: "JSON-RPC: an answer is held until a later one has been written, or 50 ms."},
		{Name: "ignore_attachments", Kind: quirk.Switch, Doc: "Frames name attachments whose files signal-cli does not keep: they are not found in the store."},
		{Name: "receipts", Kind: quirk.Text, Default: "none", Choices: []string{"none", "delivered", "read"}, Doc: "What the recipients of each delivered send answer by themselves: a delivery receipt with its timestamp, with read a read receipt after it. Of a group up to 8 members do."},
		{Name: "receipt_delay", Kind: quirk.Duration, Doc: "How long after the delivery those receipts are sent."},
		// Sending. At most one of these decides a send; the first that fires in this order does.
		{Name: "account_missing", Kind: quirk.Switch, Doc: "The account is not registered: not listed, and every call for it fails."},
		{Name: "rate_limited", Kind: quirk.Switch, Doc: "Every send is answered 429 and not delivered, until somebody submits the solution of the challenge challenge_token, which switches this off."},
		{Name: "unknown_group_fails", Kind: quirk.Switch, Doc: "Sends to groups that the bot does not know fail: Group not found."},
		{Name: "profile_missing", Kind: quirk.Switch, Doc: "Sends to groups fail with the words of send_fail_profile until the account's profile has got a name."},
		{Name: "max_attachment_bytes", Kind: quirk.Number, Doc: "Sends with an attachment of more bytes fail as with send_fail_too_large. 0 = no bound."},
	}
	for _, f := range failures {
		defs = append(defs, quirk.Def{Name: "send_fail_" + f.Class, Kind: quirk.Count, Doc: "The next N sends fail, not delivered, with: " + f.Text})
	}
	return quirk.New(append(defs,
		quirk.Def{Name: "send_429", Kind: quirk.Count, Doc: "The next N sends are answered 429 and not delivered."},
		quirk.Def{Name: "send_429_delivered", Kind: quirk.Count, Doc: "The next N sends are answered 429 although they were delivered."},
		quirk.Def{Name: "challenge_token", Kind: quirk.Text, Doc: "The challenge token that a 429 carries; empty = waiting is all that helps."},
		quirk.Def{Name: "retry_after", Kind: quirk.Duration, Default: time.Minute, Doc: "What JSON-RPC tells in retryAfterSeconds for a rate limit, in whole seconds."},
		quirk.Def{Name: "send_429_upload", Kind: quirk.Count, Doc: "The next N sends with an attachment fail with 400 and the text of the upload rate limit."},
		quirk.Def{Name: "send_hang", Kind: quirk.Count, Doc: "The next N sends are delivered and never answered."},
		quirk.Def{Name: "send_hang_lost", Kind: quirk.Count, Doc: "The next N sends are neither delivered nor answered (the daemon's connection dropped first)."},
		quirk.Def{Name: "lost_response", Kind: quirk.Switch, Doc: "REST: the race of an instant daemon: a delivered send that took less than 1 ms is never answered in one of three cases."},
		quirk.Def{Name: "send_cut", Kind: quirk.Count, Doc: "The next N sends are delivered; the connection is cut in the middle of the answer."},
		quirk.Def{Name: "send_error_rates", Kind: quirk.Rates, Choices: classes(), Doc: "Probability of each failure class for a send that nothing above decided."},
		quirk.Def{Name: "partial_failure", Kind: quirk.Count, Doc: "The next N successful sends did not reach one recipient; only the array answer and JSON-RPC show it."},
		quirk.Def{Name: "send_answer", Kind: quirk.Text, Default: "object", Choices: []string{"object", "array"}, Doc: "Shape of the answer of POST /v2/send: an object up to release 0.100, an array after it."},
		// Linking.
		quirk.Def{Name: "link_delay", Kind: quirk.Duration, Doc: "Time from the making of a code for a phone to its scan, which switches account_missing off."},
		quirk.Def{Name: "link_fail", Kind: quirk.Count, Doc: "The next N codes are never scanned: finishLink fails after link_delay."},
		// The server as a whole.
		quirk.Def{Name: "text_plain_errors", Kind: quirk.Switch, Default: true, Doc: "The answer to malformed JSON is JSON under Content-Type text/plain."},
		quirk.Def{Name: "about_mode", Kind: quirk.Text, Default: "json-rpc", Choices: []string{"json-rpc", "json-rpc-native", "normal", "native"}, Doc: "Mode that GET /v1/about tells; in normal and native mode there is no websocket: GET /v1/receive answers 200 []."},
		quirk.Def{Name: "late_listen", Kind: quirk.Duration, StartOnly: true, Doc: "HTTP is not listening for this long after the start."},
	)...)
}

// classes returns the names of the failure classes.
func classes() []string {
	var names []string
	for _, f := range failures {
		names = append(names, f.Class)
	}
	return names
}
