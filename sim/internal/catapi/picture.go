package catapi

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"quartet/sim/internal/cats"
	"quartet/sim/internal/control"
)

var fileName = regexp.MustCompile(`^([A-Za-z0-9]{1,24})\.(jpg|png)$`)

// drips is in how many parts a slow body comes.
const drips = 20

// picture is GET /images/{id}.{jpg|png}.
func (a *API) picture(w http.ResponseWriter, r *http.Request) {
	name := fileName.FindStringSubmatch(r.PathValue("file"))
	if name == nil {
		http.NotFound(w, r)
		return
	}
	a.Picture(w, r, name[1], name[2])
}

// Picture answers with the picture of an id, or 404 if its file name extension
// is another. Quirks and latency are those of pictures.
func (a *API) Picture(w http.ResponseWriter, r *http.Request, id, extension string) {
	began := time.Now()
	if a.o.Album.Info(id).Extension != extension {
		http.NotFound(w, r)
		return
	}
	a.count.Pictures.Add(1)
	a.count.Active.Add(1)
	defer a.count.Active.Add(-1)
	quirks := a.o.Quirks
	if quirks.Take("picture_hang") {
		control.Hang(r)
	}
	p, err := a.o.Album.Get(r.Context(), id)
	if err == nil {
		err = a.o.Latency.Wait(r.Context(), Image, began)
	}
	switch {
	case r.Context().Err() != nil:
	case err != nil:
		control.Fail(w, http.StatusInternalServerError, err)
	case quirks.Take("picture_429"):
		a.tooMany(w)
	case quirks.Take("picture_fail"):
		http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
	case r.URL.Query().Has("again") || quirks.Take("redirect_loop"):
		http.Redirect(w, r, r.URL.Path+"?again=1", http.StatusFound)
	case quirks.Take("redirect_private"):
		http.Redirect(w, r, quirks.Text("private_address"), http.StatusFound)
	default:
		w.Header().Set("Content-Type", p.Type)
		a.body(w, r, p)
	}
}

// body writes the picture as the quirks want it.
func (a *API) body(w http.ResponseWriter, r *http.Request, p *cats.Picture) {
	quirks := a.o.Quirks
	switch {
	case quirks.Take("wrong_magic"):
		a.write(w, []byte("<!doctype html><title>not a picture</title>"))
	case quirks.Take("huge_body"):
		a.huge(w, p.Bytes, quirks.Number("huge_bytes"))
	case quirks.Take("huge_dimensions"):
		w.Header().Set("Content-Type", "image/png")
		a.write(w, bomb())
	case quirks.Take("truncated_body"):
		w.Header().Set("Content-Length", strconv.Itoa(len(p.Bytes)))
		a.write(w, p.Bytes[:len(p.Bytes)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // closes the connection
	case quirks.Take("slow_body"):
		w.Header().Set("Content-Length", strconv.Itoa(len(p.Bytes)))
		a.drip(r.Context(), w, p.Bytes, quirks.Duration("drip_interval"))
	default:
		w.Header().Set("Content-Length", strconv.Itoa(len(p.Bytes)))
		a.write(w, p.Bytes)
	}
}

func (a *API) write(w http.ResponseWriter, content []byte) bool {
	n, err := w.Write(content)
	a.count.Bytes.Add(int64(n))
	return err == nil
}

func (a *API) huge(w http.ResponseWriter, start []byte, size int64) {
	zeros := make([]byte, 64<<10)
	for ok := a.write(w, start); ok; size -= int64(len(zeros)) {
		if size <= int64(len(start)) {
			return
		}
		ok = a.write(w, zeros)
	}
}

func (a *API) drip(ctx context.Context, w http.ResponseWriter, content []byte, interval time.Duration) {
	control := http.NewResponseController(w)
	ticker := time.NewTicker(max(interval, time.Millisecond))
	defer ticker.Stop()
	part := len(content)/drips + 1
	for len(content) > 0 {
		n := min(part, len(content))
		if !a.write(w, content[:n]) || control.Flush() != nil {
			return
		}
		content = content[n:]
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// bomb is the head of a PNG file that claims to be enormous.
func bomb() []byte {
	header := append([]byte("IHDR"), 0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60, 8, 6, 0, 0, 0)
	file := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), 13)
	file = binary.BigEndian.AppendUint32(append(file, header...), crc32.ChecksumIEEE(header))
	return append(file, make([]byte, 512)...)
}
