// Package weatherbus plays the programs on a message bus: a weather station
// that publishes, has properties and answers calls, and listeners with match
// rules of the usual kinds, who call it.
//
// Guarantee: a bus that goes away is looked for until it is there again; what
// was counted stays. Messages have the size that desktops' have: 250 to 700
// bytes.
//
// It judges nothing: whether the bus is right is for tests.
//
//	play.go      the parts, each with a connection of its own
//	station.go   the one who publishes
//	listener.go  those who listen and call
//	stranger.go  those who misbehave
//	count.go     what is counted
package weatherbus

import (
	"math"
	"math/rand/v2"

	"github.com/godbus/dbus/v5"
)

// How the station is called on the bus.
const (
	Name      = "org.quartet.Weather"
	Path      = dbus.ObjectPath("/org/quartet/Weather")
	Interface = "org.quartet.Weather1"
)

// places are where the station measures. The first is what one listener wants.
var places = [...]string{"Gdynia", "Łódź", "Kraków", "Wrocław", "Suwałki", "Zakopane"}

// measurement is one signal's body: place, values by name, when.
func measurement(n uint64) (string, map[string]dbus.Variant, uint64) {
	place := places[n%uint64(len(places))]
	values := map[string]dbus.Variant{
		"temperature": dbus.MakeVariant(temperature(n)),
		"humidity":    dbus.MakeVariant(60 + 20*rand.Float64()),
		"pressure":    dbus.MakeVariant(1013 + 8*rand.NormFloat64()),
		"wind":        dbus.MakeVariant([]float64{rand.Float64() * 12, rand.Float64() * 360}),
		"sky":         dbus.MakeVariant([]string{"clear", "cloudy", "rain", "fog"}[rand.N(4)]),
		"station":     dbus.MakeVariant(Path),
	}
	return place, values, n
}

// temperature goes up and down, as days do.
func temperature(n uint64) float64 {
	return math.Round((12+8*math.Sin(float64(n)/200)+rand.NormFloat64())*10) / 10
}

// forecast answers a call.
func forecast(place string) map[string]dbus.Variant {
	days := make([]map[string]dbus.Variant, 3)
	for i := range days {
		days[i] = map[string]dbus.Variant{
			"low":  dbus.MakeVariant(4 + 4*rand.Float64()),
			"high": dbus.MakeVariant(12 + 8*rand.Float64()),
			"rain": dbus.MakeVariant(rand.Float64()),
		}
	}
	return map[string]dbus.Variant{"place": dbus.MakeVariant(place), "days": dbus.MakeVariant(days)}
}
