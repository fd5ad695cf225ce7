package catapi

import (
	"time"

	"quartet/sim/internal/quirk"
)

// Quirks returns the switches of the simulated service, and of pictures whoever
// names them. Of those that decide a request the first that fires, in this
// order, does.
func Quirks() []quirk.Def {
	return []quirk.Def{
		{Name: "search_hang", Kind: quirk.Count, Doc: "The next N searches are never answered."},
		{Name: "search_429", Kind: quirk.Count, Doc: "The next N searches are answered 429 with Retry-After."},
		{Name: "search_fail", Kind: quirk.Count, Doc: "The next N searches are answered 500."},
		{Name: "search_malformed", Kind: quirk.Count, Doc: "The next N searches are answered 200 with JSON that ends early."},
		{Name: "search_empty", Kind: quirk.Count, Doc: "The next N searches find nothing: 200 []."},
		{Name: "search_private", Kind: quirk.Count, Doc: "The next N searches name a picture at private_address."},
		{Name: "picture_hang", Kind: quirk.Count, Doc: "The next N pictures are never answered."},
		{Name: "picture_429", Kind: quirk.Count, Doc: "The next N pictures are answered 429 with Retry-After."},
		{Name: "picture_fail", Kind: quirk.Count, Doc: "The next N pictures are answered 503."},
		{Name: "redirect_loop", Kind: quirk.Count, Doc: "The next N pictures redirect to themselves for ever."},
		{Name: "redirect_private", Kind: quirk.Count, Doc: "The next N pictures redirect to private_address."},
		{Name: "wrong_magic", Kind: quirk.Count, Doc: "The next N pictures are HTML under the picture's Content-Type."},
		{Name: "huge_body", Kind: quirk.Count, Doc: "The next N pictures go on, after their own bytes, to huge_bytes, without a Content-Length."},
		{Name: "huge_dimensions", Kind: quirk.Count, Doc: "The next N pictures are small PNG files that claim to be 60,000 by 60,000 pixels."},
		{Name: "truncated_body", Kind: quirk.Count, Doc: "The next N pictures break off after half of their Content-Length."},
		{Name: "slow_body", Kind: quirk.Count, Doc: "The next N pictures drip in 20 parts, one a drip_interval."},
		{Name: "retry_after", Kind: quirk.Duration, Default: 2 * time.Second, Doc: "What a 429 tells in Retry-After, in whole seconds."},
		{Name: "private_address", Kind: quirk.Text, Default: "http://169.254.169.254/latest/meta-data/", Doc: "URL that redirect_private and search_private lead to."},
		{Name: "huge_bytes", Kind: quirk.Number, Default: int64(64 << 20), Doc: "Bytes of a huge body."},
		{Name: "drip_interval", Kind: quirk.Duration, Default: 200 * time.Millisecond, Doc: "Time between the parts of a slow body."},
		{Name: "close_idle", Kind: quirk.Switch, Doc: "A connection is closed as soon as it is idle, without announcement."},
		{Name: "need_key", Kind: quirk.Switch, Doc: "Searches without the key of -api-key, or with any key where none is set, are answered 401."},
	}
}
