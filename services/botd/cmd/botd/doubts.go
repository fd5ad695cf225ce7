package main

import (
	"quartet/services/botd/internal/config"
)

// connection is how the bot reaches Signal, for people.
func connection(cfg config.Config) string {
	switch {
	case cfg.DaemonAddress() != "":
		return "JSON-RPC"
	case cfg.WebhookAddr != "":
		return "REST, webhook"
	}
	return "REST, websocket"
}

// promise is what happens to messages on that way, for operators.
func promise(cfg config.Config) string {
	switch connection(cfg) {
	case "JSON-RPC":
		return "bursts wait at signal-cli; with --receive-mode=manual so does what comes while the bot is down"
	case "REST, webhook":
		return "bursts arrive whole; what comes while the bot is down is lost"
	}
	return "frames closer than a millisecond are lost at the server, and all that come while the bot is down; a webhook or signal-cli's own daemon is better"
}

// doubts are about settings that work and that their operator may not have
// meant.
func doubts(cfg config.Config) []string {
	var all []string
	doubt := func(is bool, text string) {
		if is {
			all = append(all, text)
		}
	}
	doubt(cfg.StateDir == "", "BOTD_STATE_DIR is not set: a restart forgets which messages were answered, running cooldowns, and what admins decided in chats")
	doubt(cfg.StateDir != "" && cfg.Sync == "always" && connection(cfg) == "REST, websocket", "BOTD_SYNC=always lets the reader wait for the disk, and Signal's server loses what it cannot hand on meanwhile: "+
		"use a signal-cli of tcp:// or unix://, its webhook, or BOTD_SYNC=group")
	doubt(len(cfg.Groups) == 0 && len(cfg.Admins) == 0, "BOTD_GROUPS and BOTD_ADMINS are not set: the bot answers in no group, and nobody can allow one")
	doubt(cfg.UserAgent == "botd", "BOTD_USER_AGENT has no way to reach you: Wikimedia refuses such requests")
	return all
}
