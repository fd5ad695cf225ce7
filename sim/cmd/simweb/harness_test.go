package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const bounds = 20 * time.Second // for what should take milliseconds

// web is a simulator run by a test.
type web struct {
	t      *testing.T
	url    string
	upload string // with -upload-listen
	client *http.Client
}

// start runs the real command on a free port until the test ends.
func start(t *testing.T, args ...string) *web {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	args = append([]string{"-listen", "127.0.0.1:0", "-pictures", "12", "-width-min", "60", "-width-max", "80", "-bytes-min", "20000", "-bytes-max", "30000"}, args...)
	go func() {
		ended <- run(ctx, args, writer, io.Discard)
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	if !lines.Scan() {
		t.Fatalf("the simulator ended: %v", <-ended)
	}
	url := strings.TrimPrefix(lines.Text(), "web ")
	var upload string
	if slices.Contains(args, "-upload-listen") {
		lines.Scan()
		upload = strings.TrimPrefix(lines.Text(), "upload ")
	}
	s := &web{t: t, url: url, upload: upload, client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(func() {
		stop()
		s.client.CloseIdleConnections()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the simulator ended with %v", err)
			}
		case <-time.After(bounds):
			t.Error("the simulator does not stop")
		}
	})
	return s
}

type reply struct {
	status int
	header http.Header
	body   []byte
	err    error // of reading the body
}

func (s *web) get(url string, header ...string) reply {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), bounds)
	defer cancel()
	r, err := s.try(ctx, url, header...)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *web) try(ctx context.Context, url string, header ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, body, err}, nil
}

func (s *web) put(path, body string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "PUT", s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 200 {
		s.t.Fatalf("PUT %s %s: %d", path, body, res.StatusCode)
	}
}

type cat struct {
	ID, URL       string
	Width, Height int
	Type          string `json:"mime_type"`
}

func (s *web) search(query string, header ...string) []cat {
	s.t.Helper()
	r := s.get(s.url+"/v1/images/search"+query, header...)
	var list []cat
	if err := json.Unmarshal(r.body, &list); err != nil || r.status != 200 {
		s.t.Fatalf("%d %s, %v", r.status, r.body, err)
	}
	return list
}
