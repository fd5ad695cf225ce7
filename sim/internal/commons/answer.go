package commons

import (
	"crypto/md5"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"quartet/sim/internal/cats"
	"quartet/sim/internal/control"
)

type page struct {
	ID         int    `json:"pageid"`
	Namespace  int    `json:"ns"`
	Title      string `json:"title"`
	Index      int    `json:"index"`
	Repository string `json:"imagerepository,omitempty"`
	Info       []info `json:"imageinfo,omitempty"`
}

type info struct {
	Thumb       string `json:"thumburl"`
	Width       int    `json:"thumbwidth"`
	Height      int    `json:"thumbheight"`
	URL         string `json:"url"`
	Description string `json:"descriptionurl"`
	Short       string `json:"descriptionshorturl"`
	Meta        any    `json:"extmetadata"` // an empty array when there is none
}

type field struct {
	Value  string `json:"value"`
	Source string `json:"source"`
	Hidden string `json:"hidden"`
}

// hostile is an author that nobody should show as it is.
const hostile = `<script>alert("x")</script><span style="display: none;">hidden</span><a href="javascript:x" title="a > b">Ela &amp; Ewa</a><img src=x onerror="alert(1)`

// found answers a search with random pages, by their ids as the wiki lists them;
// index tells the order in which they were found.
func (a *API) found(w http.ResponseWriter, r *http.Request) {
	limit, err := strconv.Atoi(r.URL.Query().Get("gsrlimit"))
	if err != nil || limit < 1 {
		limit = 10
	}
	limit = min(limit, a.o.Distinct, 50)
	a.mu.Lock()
	order := a.random.Perm(a.o.Distinct)[:limit]
	bare := make([]bool, limit)
	for i := range bare {
		bare[i] = a.random.IntN(8) == 0
	}
	a.mu.Unlock()
	pages := make([]page, limit)
	for i, n := range order {
		pages[i] = a.page(r, n)
		pages[i].Index = i + 1
		if bare[i] || a.o.Quirks.Take("commons_incomplete") {
			pages[i].Repository, pages[i].Info = "", nil
		}
	}
	slices.SortFunc(pages, func(a, b page) int { return a.ID - b.ID })
	control.Answer(w, http.StatusOK, map[string]any{
		"batchcomplete": true,
		"continue":      map[string]any{"gsroffset": limit, "continue": "gsroffset||"},
		"query":         map[string]any{"pages": pages},
	})
}

// page is what is told of the picture n.
func (a *API) page(r *http.Request, n int) page {
	base := a.o.PublicURL
	if base == "" {
		base = "http://" + r.Host
	}
	upload := a.o.UploadURL
	if upload == "" {
		upload = base
	}
	cat := a.o.Album.Info(fmt.Sprintf("kot%d", n))
	file := "Drawing_" + cat.ID + "." + cat.Extension
	sum := fmt.Sprintf("%x", md5.Sum([]byte(file))) // where the wiki keeps a file
	i := info{
		Thumb: fmt.Sprintf("%s/wikipedia/commons/thumb/%s/%s/%s/960px-%s", upload, sum[:1], sum[:2], file, file),
		Width: cat.Width, Height: cat.Height,
		URL:         fmt.Sprintf("%s/wikipedia/commons/%s/%s/%s", upload, sum[:1], sum[:2], file),
		Description: base + "/wiki/File:" + file,
		Short:       fmt.Sprintf("%s/w/index.php?curid=%d", base, n+1),
		Meta:        a.meta(cat, n),
	}
	if a.o.Quirks.Take("commons_private") {
		i.Thumb = a.o.Quirks.Text("private_address")
	}
	return page{ID: n + 1, Namespace: 6, Title: "File:Drawing " + cat.ID + "." + cat.Extension, Repository: "local", Info: []info{i}}
}

// meta is whose a picture is: that differs, as it does at the wiki.
func (a *API) meta(cat cats.Info, n int) any {
	author, licence := fmt.Sprintf(`<a href="//commons.wikimedia.org/wiki/User:Sim" title="User:Sim">Sim &amp; %s</a>`, cat.ID), "CC BY-SA 4.0"
	switch {
	case a.o.Quirks.Take("commons_hostile"):
		author = hostile
	case n%5 == 3:
		author, licence = `Unknown author<span style="display: none;">Unknown author</span>`, "Public domain"
	case n%5 == 4:
		return []any{}
	}
	const source = "commons-desc-page"
	return map[string]field{"Artist": {author, source, ""}, "LicenseShortName": {licence, source, ""}}
}
