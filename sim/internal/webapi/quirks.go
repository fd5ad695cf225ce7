package webapi

import "quartet/sim/internal/quirk"

// Quirks returns the switches of the small services. Of those that decide a
// request the first that fires, in this order, does.
func Quirks() []quirk.Def {
	return []quirk.Def{
		{Name: "json_hang", Kind: quirk.Count, Doc: "The next N requests under /json/ are never answered."},
		{Name: "json_429", Kind: quirk.Count, Doc: "The next N requests under /json/ are answered 429 with Retry-After."},
		{Name: "json_fail", Kind: quirk.Count, Doc: "The next N requests under /json/ are answered 500."},
		{Name: "json_malformed", Kind: quirk.Count, Doc: "The next N requests under /json/ are answered 200 with JSON that ends early."},
		{Name: "json_huge", Kind: quirk.Count, Doc: "The next N requests under /json/ are answered with a text of huge_bytes."},
		{Name: "hook_hang", Kind: quirk.Count, Doc: "The next N requests to /hook are noted and never answered."},
		{Name: "hook_fail", Kind: quirk.Count, Doc: "The next N requests to /hook are noted and answered 500."},
	}
}
