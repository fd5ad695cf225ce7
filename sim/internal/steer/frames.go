package steer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"quartet/sim/internal/control"
	"quartet/sim/internal/signalnet"
)

func (p Panel) frames(w http.ResponseWriter, r *http.Request) {
	spacing, err := control.Duration(r, "spacing", time.Hour)
	if err != nil {
		control.Fail(w, http.StatusBadRequest, err)
		return
	}
	body := bufio.NewReader(http.MaxBytesReader(w, r.Body, maxFrames))
	lines := strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-ndjson")
	if !lines && startsWith(body, '{') {
		p.series(w, body, spacing)
		return
	}
	specs, err := readSpecs(body, lines)
	if err != nil {
		control.Fail(w, http.StatusBadRequest, err)
		return
	}
	if err := p.Net.Enqueue(specs, spacing); err != nil {
		control.Fail(w, http.StatusTooManyRequests, err)
		return
	}
	control.Answer(w, http.StatusAccepted, map[string]int{"queued": len(specs)})
}

// series has frames emitted that are made as they go.
func (p Panel) series(w http.ResponseWriter, body io.Reader, spacing time.Duration) {
	s := signalnet.Series{Spacing: signalnet.Span(spacing)}
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		control.Fail(w, http.StatusBadRequest, fmt.Errorf("read a series of frames: %w", err))
		return
	}
	commands, err := p.Net.EnqueueSeries(s)
	switch {
	case errors.Is(err, signalnet.ErrFull):
		control.Fail(w, http.StatusTooManyRequests, err)
	case err != nil:
		control.Fail(w, http.StatusBadRequest, err)
	default:
		control.Answer(w, http.StatusAccepted, map[string]int{"queued": s.Count, "commands": commands})
	}
}

// startsWith says whether the first byte that is no space is that.
func startsWith(body *bufio.Reader, want byte) bool {
	for {
		b, err := body.ReadByte()
		if err != nil {
			return false
		}
		if strings.IndexByte(" \t\r\n", b) < 0 {
			_ = body.UnreadByte() // it was just read
			return b == want
		}
	}
}

// readSpecs reads an array, or with lines one object a line.
func readSpecs(body io.Reader, lines bool) ([]signalnet.Spec, error) {
	decoder := json.NewDecoder(body)
	var specs []signalnet.Spec
	if !lines {
		if err := decoder.Decode(&specs); err != nil {
			return nil, fmt.Errorf("read frames: want a JSON array: %w", err)
		}
	}
	for lines {
		var s signalnet.Spec
		err := decoder.Decode(&s)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read frame %d: %w", len(specs)+1, err)
		}
		specs = append(specs, s)
	}
	for i, s := range specs {
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("frame %d: %w", i+1, err)
		}
		// A frame is one line of JSON-RPC, whatever the body looked like.
		if len(s.Raw) > 0 {
			var compact bytes.Buffer
			if err := json.Compact(&compact, s.Raw); err != nil {
				return nil, fmt.Errorf("frame %d: %w", i+1, err)
			}
			specs[i].Raw = compact.Bytes()
		}
	}
	return specs, nil
}
