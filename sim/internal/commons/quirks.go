package commons

import "quartet/sim/internal/quirk"

// Quirks returns the switches of the simulated wiki. Of those that decide a
// request the first that fires, in this order, does. Its thumbnails have the
// quirks of all pictures.
func Quirks() []quirk.Def {
	return []quirk.Def{
		{Name: "commons_hang", Kind: quirk.Count, Doc: "The next N requests to Commons are never answered."},
		{Name: "commons_429", Kind: quirk.Count, Doc: "The next N requests to Commons are answered 429 with Retry-After."},
		{Name: "commons_fail", Kind: quirk.Count, Doc: "The next N requests to Commons are answered 503, without Retry-After."},
		{Name: "commons_maxlag", Kind: quirk.Count, Doc: "The next N requests to Commons that give maxlag are told that it lags: 200 with an error and Retry-After."},
		{Name: "commons_error", Kind: quirk.Count, Doc: "The next N requests to Commons are answered 200 with the error commons_error_code."},
		{Name: "commons_malformed", Kind: quirk.Count, Doc: "The next N requests to Commons are answered 200 with JSON that ends early."},
		{Name: "commons_empty", Kind: quirk.Count, Doc: "The next N searches of Commons find nothing: 200 without query."},
		{Name: "commons_private", Kind: quirk.Count, Doc: "The next N pages of Commons name a thumbnail at private_address."},
		{Name: "commons_incomplete", Kind: quirk.Count, Doc: "The next N pages of Commons have no imageinfo; beside those that have none by chance."},
		{Name: "commons_hostile", Kind: quirk.Count, Doc: "The next N pages of Commons have an author of scripts, hidden text and tags that do not end."},
		{Name: "commons_error_code", Kind: quirk.Text, Default: "internal_api_error_DBQueryError", Doc: "Code of commons_error."},
	}
}
