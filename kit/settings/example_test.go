package settings_test

import (
	"fmt"

	"quartet/kit/settings"
)

func Example() {
	type Config struct {
		Limit   int              `env:"LIMIT" envDefault:"8" doc:"How many messages are handled at once."`
		Timeout settings.Seconds `env:"TIMEOUT" envDefault:"15s" doc:"Bounds one command."`
	}
	c, err := settings.Parse[Config]("BOTD_", []string{"BOTD_TIMEOUT=60"})
	fmt.Println(c.Limit, c.Timeout, err)

	_, err = settings.Parse[Config]("BOTD_", []string{"BOTD_LIMIT=many", "BOTD_TIMOUT=60"})
	fmt.Println(err)
	// Output:
	// 8 1m0s <nil>
	// 2 faults in the configuration:
	//   BOTD_TIMOUT: there is no such variable, did you mean BOTD_TIMEOUT?
	//   BOTD_LIMIT: "many": want a whole number of 64 bits
}
