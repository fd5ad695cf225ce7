package commandfile

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"quartet/services/botd/internal/asked"
)

// The bounds of a request.
const (
	maxURL       = 2048 // bytes, as it stands in the file
	maxHeaders   = 16
	maxRedirects = 16 // hosts
)

// http reads a request of a command whose parameters are known.
func (t *table) http(c *Command) *HTTP {
	h := &HTTP{}
	h.URL = t.address(c.Params)
	h.As = As(t.word("as", string(AsText), string(AsJSON), string(AsPicture), string(AsHook)))
	h.Method = t.word("method", "GET", "POST")
	switch {
	case h.As == AsHook && t.has("method") && h.Method != "POST":
		t.fault("method", "a hook is always posted to")
	case h.As == AsHook:
		h.Method = "POST"
	}
	h.Header = t.settings("header", maxHeaders, checkHeader)
	t.content(h)
	h.Redirects = t.texts("allow_redirects", maxRedirects, maxLine)
	for i, host := range h.Redirects {
		if h.Redirects[i] = strings.ToLower(host); !hostForm.MatchString(h.Redirects[i]) {
			t.fault("allow_redirects", "%q is no host, as images.example.org", short(host))
		}
	}
	if h.Method == "POST" && len(h.Redirects) > 0 {
		t.fault("allow_redirects", "what is posted is never redirected")
	}
	t.done()
	return h
}

// hostForm is a host, or all below one, with or without a port.
var hostForm = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// content reads what is taken out of the answer.
func (t *table) content(h *HTTP) {
	if p := t.text("path", maxLine); p != "" {
		h.Path = strings.Split(p, ".")
		if slices.Contains(h.Path, "") {
			t.fault("path", "has an empty part, paths are as data.0.title")
		}
	}
	if source := t.text("template", MaxText); source != "" {
		var err error
		if h.Template, err = ParseTemplate(source); err != nil {
			t.fault("template", "%v", err)
		}
		for _, name := range h.Template.Names() {
			if slices.Contains(strings.Split(name, "."), "") {
				t.fault("template", "{%s} has an empty part, paths are as {data.0.title}", short(name))
			}
		}
	}
	switch has := t.has("path") || t.has("template"); {
	case t.has("path") && t.has("template"):
		t.fault("template", "path and template exclude each other")
	case h.As == AsJSON && !has:
		t.fault("as", `"json" needs path or template, which say what to show`)
	case h.As == AsPicture && t.has("template"), h.As != AsJSON && h.As != AsPicture && has:
		t.fault("as", `%q takes no path and no template`, string(h.As))
	}
}

// address reads a URL with placeholders for what people write.
func (t *table) address(params []asked.Param) Template {
	source := t.text("url", maxURL)
	if source == "" {
		if !t.has("url") {
			t.fault("", "url is missing")
		}
		return nil
	}
	tpl, err := ParseTemplate(source)
	if err != nil {
		t.fault("url", "%v", err)
		return nil
	}
	for _, name := range tpl.Names() {
		declared := slices.ContainsFunc(params, func(p asked.Param) bool { return p.Name == name })
		if !declared && !reserved(name) {
			t.fault("url", "{%s} is neither a parameter nor words, word1 to word9 or sender_name", short(name))
		}
	}
	if wrong := checkAddress(tpl); wrong != "" {
		t.fault("url", "%s", wrong)
	}
	return tpl
}

// reserved names have a meaning in addresses without being declared.
func reserved(name string) bool {
	return name == "words" || name == "sender_name" ||
		len(name) == len("word1") && strings.HasPrefix(name, "word") && name[4] >= '1' && name[4] <= '9'
}

// checkAddress says what is wrong with an address, whatever is filled in.
func checkAddress(tpl Template) string {
	fixed := tpl.Fill(func(string) string { return "x" })
	u, err := url.Parse(fixed)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "is no address, as https://example.org/words/{words}"
	case u.User != nil:
		return "has a name or password in it; a header from a file is the place for them"
	case u.Fragment != "" || strings.Contains(fixed, "#"):
		return "has a # in it, which is never sent"
	}
	head := tpl[0].Text // before the first placeholder
	_, rest, _ := strings.Cut(head, "://")
	if len(tpl.Names()) > 0 && !strings.ContainsAny(rest, "/?") {
		return "has a placeholder in its host; whom the bot asks is not for people to choose"
	}
	return ""
}

// headerForm is a token of HTTP.
var headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// ours are headers that the bot sets itself, or that change how a request is read.
var ours = []string{"host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "te", "trailer", "user-agent", "accept-encoding", "expect"}

func checkHeader(name string) string {
	switch {
	case !headerForm.MatchString(name):
		return "is no name of a header"
	case slices.Contains(ours, strings.ToLower(name)):
		return "is set by the bot"
	}
	return ""
}
