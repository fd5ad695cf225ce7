// Bareloop is the least that a bot could do, as a yardstick for botd: it reads
// frames from the websocket, decodes them, waits for the sender's earlier one,
// writes a line to a file, and posts an answer over a kept connection. Or, with
// -webhook, it reads posts and answers them, and that is all.
//
// It keeps no promises: nothing is bounded, nothing is synced or read again,
// nobody is told what went wrong.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

func main() {
	signal := flag.String("signal", "", "host:port of signal-cli-rest-api")
	number := flag.String("number", "", "the bot's number")
	path := flag.String("journal", "", "file to write a line a message to")
	webhook := flag.String("webhook", "", "host:port on which to answer posts, and do nothing else")
	flag.Parse()
	err := error(nil)
	if *webhook != "" {
		err = answerPosts(*webhook)
	} else {
		err = run(*signal, *number, *path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bareloop:", err)
		os.Exit(1)
	}
}

// bot is all there is.
type bot struct {
	url, number string
	client      *http.Client
	journal     *os.File // written a line at a time

	mu      sync.Mutex
	senders map[string]*sync.Mutex // guarded by mu
}

// frame is what a bot must know of one.
type frame struct {
	Envelope struct {
		SourceUUID  string `json:"sourceUuid"`
		SourceName  string `json:"sourceName"`
		Timestamp   int64  `json:"timestamp"`
		DataMessage struct {
			Message   string `json:"message"`
			GroupInfo struct {
				GroupID string `json:"groupId"`
			} `json:"groupInfo"`
		} `json:"dataMessage"`
	} `json:"envelope"`
}

func run(signal, number, path string) error {
	journal, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer journal.Close()
	b := &bot{url: "http://" + signal + "/v2/send", number: number, journal: journal, senders: map[string]*sync.Mutex{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	ws, err := dial(signal, "/v1/receive/"+number)
	if err != nil {
		return err
	}
	defer ws.Close()
	fmt.Println("receiving")
	for {
		raw, err := ws.next()
		if err != nil {
			return err
		}
		var f frame
		if err := json.Unmarshal(raw, &f); err != nil {
			return err
		}
		if strings.HasPrefix(f.Envelope.DataMessage.Message, "!") {
			go b.answer(f)
		}
	}
}

func (b *bot) answer(f frame) {
	sender := b.sender(f.Envelope.SourceUUID)
	sender.Lock()
	defer sender.Unlock()
	if err := b.reply(f); err != nil {
		fmt.Fprintln(os.Stderr, "bareloop:", err)
	}
}

func (b *bot) sender(uuid string) *sync.Mutex {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.senders[uuid] == nil {
		b.senders[uuid] = new(sync.Mutex)
	}
	return b.senders[uuid]
}

func (b *bot) reply(f frame) error {
	e := f.Envelope
	to := e.SourceUUID
	if id := e.DataMessage.GroupInfo.GroupID; id != "" {
		to = "group." + base64.StdEncoding.EncodeToString([]byte(id))
	}
	if _, err := fmt.Fprintf(b.journal, "%s %d %s\n", e.SourceUUID, e.Timestamp, e.DataMessage.Message); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"number": b.number, "recipients": []string{to}, "message": e.SourceName + ": hello"})
	if err != nil {
		return err
	}
	resp, err := b.client.Post(b.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
