package serve_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"quartet/sim/internal/serve"
)

func TestHealthcheckTellsWhetherTheServerAnswers(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /well", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /ill", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	server := httptest.NewServer(mux)
	const nobody = "http://127.0.0.1:1" // no port that the kernel gives away
	for _, c := range []struct {
		name  string
		args  []string
		usual string
		well  bool
	}{
		{"the usual URL", nil, server.URL + "/well", true},
		{"another URL", []string{server.URL + "/well"}, nobody, true},
		{"an error", nil, server.URL + "/ill", false},
		{"nobody", nil, nobody, false},
		{"too much", []string{server.URL + "/well", "x"}, server.URL + "/well", false},
	} {
		if err := serve.Healthcheck(t.Context(), c.args, c.usual); (err == nil) != c.well {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
