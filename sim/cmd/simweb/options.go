package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"quartet/sim/internal/catapi"
	"quartet/sim/internal/cats"
	"quartet/sim/internal/commons"
	"quartet/sim/internal/latency"
	"quartet/sim/internal/quirk"
	"quartet/sim/internal/webapi"
)

// seedLatencies are the times measured on the live bot on 2026-08-29. Their spread is a guess.
// That of Commons was never measured: it is a guess like the other search.
const seedLatencies = "search=386ms~0.1,commons=386ms~0.1,picture=684ms~0.1"

type options struct {
	listen  string
	upload  string // "" = as listen
	remote  bool
	api     catapi.Options
	commons commons.Options
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{api: catapi.Options{Quirks: quirk.New(slices.Concat(catapi.Quirks(), commons.Quirks(), webapi.Quirks())...)}}
	album := cats.Options{MaxCount: 256, MaxBytes: 64 << 20}
	var quirks, latencies string
	var seeded bool
	f := flag.NewFlagSet("simweb", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8081", "`address` to listen on; port 0 picks one")
	f.StringVar(&o.upload, "upload-listen", "", "another `address`, for the thumbnails of Commons, which have a host of their own; empty = no other")
	f.StringVar(&o.commons.UploadURL, "upload-url", "", "`base` of the thumbnails' URLs; empty = where -upload-listen listens, else as -public-url")
	f.BoolVar(&o.remote, "allow-remote", false, "permit addresses that other machines can reach")
	f.StringVar(&o.api.PublicURL, "public-url", "", "`base` of the URLs of pictures and pages; empty = the host that the search was asked at")
	f.StringVar(&o.api.APIKey, "api-key", "", "the only x-api-key that is taken; empty = any")
	f.IntVar(&o.api.Distinct, "pictures", 60, "`number` of different pictures")
	f.IntVar(&album.Width.Min, "width-min", 560, "smallest width of a picture, in `pixels`")
	f.IntVar(&album.Width.Max, "width-max", 900, "greatest width of a picture, in `pixels`")
	f.IntVar(&album.Bytes.Min, "bytes-min", 90<<10, "a smaller picture is padded up to a size from here on, in `bytes`; 0 with -bytes-max 0 = never")
	f.IntVar(&album.Bytes.Max, "bytes-max", 300<<10, "and up to here, in `bytes`")
	f.BoolVar(&album.JPEG, "jpeg-only", false, "no picture is a PNG")
	f.StringVar(&quirks, "quirks", "", "`list` of quirks, name,name=value; GET /_sim/quirks?describe=1 explains them")
	f.BoolVar(&seeded, "seed-latencies", false, "use the latencies measured on the live bot: "+seedLatencies+" (the spreads are guesses)")
	f.StringVar(&latencies, "latency", "", "`list` of latencies, operation=MEDIAN or operation=MEDIAN~JITTER, of search, commons, picture, json; default 0")
	f.Uint64Var(&o.api.Seed, "rand-seed", 1, "`seed` of everything random")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.api.Distinct < 1 || o.api.Distinct > 100_000:
		return o, errors.New("-pictures: want 1 to 100000")
	case album.Width.Min < 32 || album.Width.Max < album.Width.Min || album.Width.Max > 4096:
		return o, errors.New("-width-min, -width-max: want 32 to 4096")
	case album.Bytes.Min < 0 || album.Bytes.Max < album.Bytes.Min || album.Bytes.Max > 32<<20:
		return o, errors.New("-bytes-min, -bytes-max: want 0 to 32 MiB")
	}
	o.api.PublicURL = strings.TrimSuffix(o.api.PublicURL, "/")
	o.api.Album = cats.NewAlbum(album)
	o.api.Latency = latency.NewTable(o.api.Seed, catapi.Search, catapi.Image, commons.Search, webapi.JSON)
	if err := o.api.Quirks.ParseList(quirks); err != nil {
		return o, fmt.Errorf("-quirks: %w", err)
	}
	if seeded {
		latencies = seedLatencies + "," + latencies
	}
	if err := o.api.Latency.ParseList(latencies); err != nil {
		return o, fmt.Errorf("-latency: %w", err)
	}
	o.api.Quirks.Freeze()
	o.api.Latency.Freeze()
	o.commons = commons.Options{
		Album: o.api.Album, Distinct: o.api.Distinct, Seed: o.api.Seed, Quirks: o.api.Quirks, Latency: o.api.Latency,
		PublicURL: o.api.PublicURL, UploadURL: strings.TrimSuffix(o.commons.UploadURL, "/"),
	}
	return o, nil
}
