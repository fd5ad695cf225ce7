package control

import (
	"net/http"
	"strconv"

	"quartet/sim/internal/quirk"
)

// Hang holds a request until its client leaves, and never answers it.
func Hang(r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// Later tells whoever asks to come back after the quirk retry_after.
func Later(w http.ResponseWriter, quirks *quirk.Set) {
	w.Header().Set("Retry-After", strconv.Itoa(int(quirks.Duration("retry_after").Seconds())))
}
