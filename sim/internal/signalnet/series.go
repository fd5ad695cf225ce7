package signalnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Series describes many frames that are made while they are emitted.
type Series struct {
	Count    int      `json:"count"`
	Spacing  Span     `json:"spacing"`
	People   int      `json:"people"`    // 0 = 1
	First    int      `json:"first"`     // number of the first person
	Groups   int      `json:"groups"`    // 0 = all write directly
	Direct   float64  `json:"direct"`    // share of the people who write directly
	Text     Texts    `json:"text"`      // what a person writes, in turn
	Noise    float64  `json:"noise"`     // share of the frames that are no commands
	NoiseMin int      `json:"noise_min"` // bytes of such a frame; 0 = 550
	NoiseMax int      `json:"noise_max"` // 0 = 2048
	Seed     uint64   `json:"seed"`
	groups   []string // ids
	bare     [2]int   // bytes of a frame without its text: direct, and in a group
}

// Texts are one text or many.
type Texts []string

// UnmarshalJSON reads a text or a list of texts.
func (t *Texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Texts{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("text: want a text or a list of texts: %w", err)
	}
	*t = many
	return nil
}

const (
	maxSeries = 10_000_000
	maxPeople = 100_000
	maxNoise  = 64 << 10
)

func (s *Series) check() error {
	if s.People == 0 {
		s.People = 1
	}
	if s.NoiseMin == 0 && s.NoiseMax == 0 {
		s.NoiseMin, s.NoiseMax = 550, 2048
	}
	switch {
	case s.Count < 1 || s.Count > maxSeries:
		return fmt.Errorf("count: want 1 to %d", maxSeries)
	case s.Spacing < 0 || time.Duration(s.Spacing) > time.Hour:
		return errors.New("spacing: want 0 to 1h")
	case s.People < 1 || s.People > maxPeople || s.First < 0 || s.First > 1_000_000_000:
		return fmt.Errorf("people: want 1 to %d, from a first that is not negative", maxPeople)
	case s.Groups < 0 || s.Groups > maxGroups/2:
		return fmt.Errorf("groups: want 0 to %d", maxGroups/2)
	case !(s.Direct >= 0 && s.Direct <= 1) || !(s.Noise >= 0 && s.Noise <= 1):
		return errors.New("direct, noise: want 0 to 1")
	case s.NoiseMin < 1 || s.NoiseMax < s.NoiseMin || s.NoiseMax > maxNoise:
		return fmt.Errorf("noise_min, noise_max: want 1 to %d", maxNoise)
	case len(s.Text) == 0 && s.Noise < 1:
		return errors.New("text: want one")
	}
	return nil
}

// EnqueueSeries has the frames of a series emitted, and returns how many of
// them are its texts and no noise. The groups are made if they are not there.
func (n *Network) EnqueueSeries(s Series) (commands int, err error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	var fresh []Group
	for j := range s.Groups {
		g := Group{Name: fmt.Sprint("load ", j)}
		g.ID = namedID(g.Name)
		s.groups = append(s.groups, g.ID)
		if _, known := n.GroupByID(g.ID); !known {
			fresh = append(fresh, g)
		}
	}
	if err := n.PutGroups(fresh); err != nil {
		return 0, err
	}
	for _, p := range []int{0, s.People - 1} { // those who write directly come first
		if err := s.weigh(n, p); err != nil {
			return 0, err
		}
	}
	for i := range s.Count {
		if !s.noise(i) {
			commands++
		}
	}
	return commands, n.enqueue(&batch{series: &s, spacing: time.Duration(s.Spacing)})
}

// weigh finds out how big a person's frame is without a text.
func (s *Series) weigh(n *Network, person int) error {
	bare := s.at(person)
	bare.Text = ""
	e, _ := n.envelope(bare, time.Now())
	frame, err := json.Marshal(params{Account: n.Number, Envelope: e})
	if err != nil {
		return fmt.Errorf("build frame: %w", err)
	}
	s.bare[place(bare)] = len(frame) + 2*(len("1700000000000")-len("0")) // the timestamps are not there yet
	return nil
}

// place is 0 for a direct message and 1 for one in a group.
func place(s Spec) int { return min(len(s.Group), 1) }

// Person returns the uuid of the person with a number in a series.
func Person(number int) string { return fmt.Sprintf("5eed0000-0000-4000-8000-%012d", number) }

// draw returns a number that is always the same for a frame of a series.
func (s *Series) draw(i int, what uint64) *rand.PCG { return rand.NewPCG(s.Seed^what, uint64(i)) }

func (s *Series) noise(i int) bool {
	return s.Noise > 0 && float64(s.draw(i, 1).Uint64()>>11)/(1<<53) < s.Noise
}

// at makes a frame of the series.
func (s *Series) at(i int) Spec {
	p := i % s.People
	spec := Spec{Sender: Person(s.First + p), Name: fmt.Sprint("p", s.First+p)}
	if s.Groups > 0 && float64(p) >= s.Direct*float64(s.People) {
		spec.Group = s.groups[p%s.Groups]
	}
	if !s.noise(i) {
		spec.Text = s.Text[i/s.People%len(s.Text)]
		return spec
	}
	random := rand.New(s.draw(i, 2))
	length := max(s.NoiseMin+random.IntN(s.NoiseMax-s.NoiseMin+1)-s.bare[place(spec)], 1)
	from := random.IntN(len(smallTalk) - length)
	spec.Text = smallTalk[from : from+length]
	return spec
}

// smallTalk is what noise is cut from: no cut of it is a command.
var smallTalk = strings.Repeat("dzisiaj znowu pada, a kot lezy na parapecie i patrzy w okno; ", 2*maxNoise/60)
