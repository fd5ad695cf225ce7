package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"

	"quartet/kit/budget"
	"quartet/kit/pool"
	"quartet/services/botd/internal/said"
)

// maxWords is how many bytes of what people typed are searched for. The search
// refuses more than 300 characters.
const maxWords = 200

// Commons finds pictures on Wikimedia Commons. Its API is asked in series, as
// it wants it; downloads go side by side.
type Commons struct {
	api       url.URL
	userAgent string
	asker     asker
	pictures  *Pictures
}

// NewCommons returns a client of the wiki at base that downloads with pictures.
// userAgent should have a way to reach the operator: the wiki refuses names that
// say nothing.
func NewCommons(base *url.URL, userAgent string, api *pool.Client, pictures *Pictures) *Commons {
	return &Commons{
		api: *base.JoinPath("/w/api.php"), userAgent: userAgent, pictures: pictures,
		asker: asker{operation: "commons", doing: "search Commons", api: api, series: budget.New("commons", 1, budget.Options{})},
	}
}

// Find returns some picture for words, and whose it is. Words are only words:
// the search's operators are not to be had. The error is ErrNoPicture when
// there is none, a *NotNowError while the API is to be left alone.
func (c *Commons) Find(ctx context.Context, words string) (Picture, said.Credit, error) {
	hit, err := c.search(ctx, words)
	if err != nil {
		return Picture{}, said.Credit{}, err
	}
	picture, err := c.pictures.Get(ctx, hit.address)
	if err != nil {
		return Picture{}, said.Credit{}, err
	}
	return picture, hit.credit, nil
}

// hit is a picture that was found.
type hit struct {
	address string // of its thumbnail
	credit  said.Credit
}

func (c *Commons) search(ctx context.Context, words string) (hit, error) {
	query := searchable(words)
	if query == "" {
		return hit{}, fmt.Errorf("search Commons: %w", ErrNoPicture)
	}
	u := c.api
	u.RawQuery = url.Values{
		"action": {"query"}, "format": {"json"}, "formatversion": {"2"}, "maxlag": {"5"},
		"generator": {"search"}, "gsrsearch": {query + " filetype:bitmap"}, "gsrnamespace": {"6"},
		"gsrsort": {"random"}, "gsrlimit": {"10"}, // some pages have no picture
		"prop": {"imageinfo"}, "iiprop": {"url|extmetadata"}, "iiextmetadatafilter": {"Artist|Attribution|LicenseShortName"},
		"iiurlwidth": {"960"}, // one of the widths that are kept ready
	}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return hit{}, err
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	var found hit
	err = c.asker.ask(req, func(resp *http.Response, body []byte) error {
		var err error
		found, err = readSearch(resp.Header.Get("Retry-After"), body)
		return err
	})
	return found, err
}

// searchable leaves words of what people typed, in lower case, since the search
// takes OR and NOT for operators, and without marks, which are operators too.
func searchable(words string) string {
	mapped := strings.Map(func(c rune) rune {
		switch {
		case unicode.IsLetter(c), unicode.IsMark(c), unicode.IsNumber(c), c > unicode.MaxASCII && unicode.IsSymbol(c):
			return unicode.ToLower(c)
		}
		return ' '
	}, strings.ToValidUTF8(words, " "))
	query := strings.Join(strings.Fields(mapped), " ")
	if len(query) > maxWords {
		query = strings.TrimRight(strings.ToValidUTF8(query[:maxWords], ""), " ")
	}
	return query
}

// answer is what the API says; formatversion=2.
type answer struct {
	Error *struct {
		Code string `json:"code"`
	} `json:"error"`
	Query struct {
		Pages []page `json:"pages"`
	} `json:"query"`
}

type page struct {
	Title     string      `json:"title"`
	Index     int         `json:"index"` // the place among what was found; the pages come in another order
	ImageInfo []imageInfo `json:"imageinfo"`
}

type imageInfo struct {
	Thumb       string          `json:"thumburl"`
	Description string          `json:"descriptionurl"`
	Meta        json.RawMessage `json:"extmetadata"`
}

// readSearch reads the answer to a search, which has status 200 whatever it says.
func readSearch(late string, body []byte) (hit, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return hit{}, fmt.Errorf("read the answer: %w", err)
	}
	if e := a.Error; e != nil {
		switch {
		case e.Code == "maxlag", e.Code == "ratelimited", e.Code == "readonly":
			return hit{}, &postponement{wait: max(retryAfter(late, time.Now()), defaultWait), why: e.Code}
		case strings.HasPrefix(e.Code, "internal_api_error"):
			return hit{}, fmt.Errorf("its own error: %.50q", e.Code)
		}
		return hit{}, &refusalError{code: e.Code}
	}
	var first *page
	for i := range a.Query.Pages {
		p := &a.Query.Pages[i]
		if len(p.ImageInfo) > 0 && p.ImageInfo[0].Thumb != "" && (first == nil || p.Index < first.Index) {
			first = p
		}
	}
	if first == nil {
		return hit{}, ErrNoPicture
	}
	return first.hit(), nil
}

// hit is the picture of a page that has one.
func (p *page) hit() hit {
	info := p.ImageInfo[0]
	meta := readMeta(info.Meta)
	author := plain(meta["Artist"])
	if author == "" {
		author = plain(meta["Attribution"])
	}
	title := strings.TrimPrefix(p.Title, "File:")
	return hit{address: info.Thumb, credit: said.Credit{
		Title:   strings.TrimSuffix(title, path.Ext(title)),
		Author:  author,
		Licence: plain(meta["LicenseShortName"]),
		Source:  info.Description,
	}}
}

// readMeta reads extmetadata: an object of objects, an empty array when there
// is none. Values that are no text are left out: a picture is not lost for them.
func readMeta(raw json.RawMessage) map[string]string {
	var fields map[string]struct {
		Value any `json:"value"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	meta := make(map[string]string, len(fields))
	for name, f := range fields {
		if text, ok := f.Value.(string); ok {
			meta[name] = text
		}
	}
	return meta
}
