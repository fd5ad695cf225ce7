package transport_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"quartet/services/botd/internal/transport"
)

func TestADataURIHoldsNothingThatCouldBreakOut(t *testing.T) {
	got := string(transport.AppendDataURI([]byte("x"), &transport.Attachment{
		ContentType: `image/png";a`, Filename: `../k;o"t/ż.png`, Data: []byte("\xff\xd8"),
	}))
	if want := "xdata:image/png__a;filename=.._k_o_t___.png;base64,/9g="; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("zażółć \"gęślą\"\n\u2028 \x00", "image/jpeg", "k.jpg", []byte("\xff\xd8"))
	f.Add("\xff", `a";b`, "..", []byte(nil))
	f.Fuzz(func(t *testing.T, text, contentType, name string, data []byte) {
		var back string
		if err := json.Unmarshal(transport.AppendString(nil, text), &back); err != nil || utf8.ValidString(text) && back != text {
			t.Errorf("%q comes back as %q, %v", text, back, err)
		}
		uri := transport.AppendDataURI(nil, &transport.Attachment{ContentType: contentType, Filename: name, Data: data})
		var quoted string
		if err := json.Unmarshal([]byte(`"`+string(uri)+`"`), &quoted); err != nil {
			t.Fatalf("%s is no JSON: %v", uri, err)
		}
		head, encoded, _ := strings.Cut(quoted, ",")
		if strings.Count(head, ";") != 2 || strings.Contains(transport.PlainFilename(name), "/") {
			t.Errorf("head is %s", head)
		}
		if got, err := base64.StdEncoding.DecodeString(encoded); err != nil || !bytes.Equal(got, data) {
			t.Errorf("data are %q, %v", got, err)
		}
	})
}

func TestVersionsWithKnownFaultsAreWarnedOf(t *testing.T) {
	for version, want := range map[string]string{
		"0.14.2":          "signal_cli_slow_groups signal_cli_slow_unregistered",
		"0.13":            "signal_cli_slow_groups signal_cli_slow_unregistered",
		"v0.9.9":          "signal_cli_slow_groups signal_cli_slow_unregistered",
		"0.14.3":          "signal_cli_slow_unregistered",
		"0.14.5-SNAPSHOT": "signal_cli_slow_unregistered",
		"0.14.6":          "",
		"0.14.10":         "",
		"0.14.6.1":        "",
		"1.0":             "",
		"unset":           "",
		"":                "",
	} {
		if got := names(transport.CLIWarnings(version)); got != want {
			t.Errorf("signal-cli %q: %s", version, got)
		}
	}
	for version, want := range map[string]string{"0.94": "rest_api_mixes_accounts", "0.95": "", "0.100": "", "unset": ""} {
		if got := names(transport.RESTWarnings(version)); got != want {
			t.Errorf("signal-cli-rest-api %q: %s", version, got)
		}
	}
}

func names(warnings []transport.Warning) string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.Name)
	}
	return strings.Join(all, " ")
}
