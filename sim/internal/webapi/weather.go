package webapi

import (
	"hash/fnv"
	"math/rand/v2"
	"net/http"

	"quartet/sim/internal/control"
)

var (
	skies = []string{"słonecznie", "pochmurno", "deszcz", "mgła", "śnieg", "burza"}
	days  = []string{"dziś", "jutro", "pojutrze"}
)

// weather is GET /json/weather?q=PLACE: always the same for a place.
func weather(w http.ResponseWriter, r *http.Request) {
	place := r.URL.Query().Get("q")
	if place == "" {
		control.Answer(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"code": 1003, "message": "Parameter q is missing."}})
		return
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(place)) // never fails
	random := rand.New(rand.NewPCG(h.Sum64(), 11))
	celsius := func() float64 { return float64(random.IntN(70)-20) / 2 }
	forecast := []map[string]any{}
	for _, day := range days {
		forecast = append(forecast, map[string]any{"day": day, "max_c": celsius(), "text": skies[random.IntN(len(skies))]})
	}
	control.Answer(w, http.StatusOK, map[string]any{
		"location": map[string]any{"name": place, "country": "PL"},
		"current": map[string]any{
			"temp_c": celsius(), "wind_kph": random.IntN(60), "is_day": random.IntN(2) == 0,
			"condition": map[string]string{"text": skies[random.IntN(len(skies))]},
		},
		"forecast": forecast,
	})
}
