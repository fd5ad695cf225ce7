package commandfile

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"quartet/services/botd/internal/asked"
	"quartet/services/botd/internal/envelope"
)

// The bounds of a command.
const (
	maxAliases  = 16
	maxHelp     = 300 // bytes
	maxParams   = 8
	maxPeople   = 1024
	maxGroups   = 256
	maxChoices  = 1024
	maxWeight   = 1_000_000
	maxCooldown = 30 * 24 * time.Hour
	minTimeout  = 100 * time.Millisecond
	maxTimeout  = 5 * time.Minute

	maxLine = 1024 // bytes of any other text
)

// uuidForm is how Signal writes a person's account.
var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// command reads a command. names are those that commands before it have.
func (t *table) command(names map[string]string) Command {
	c := Command{Line: t.r.lines.find(t.path)}
	c.Name = t.text("name", maxLine)
	if c.Name == "" && !t.has("name") {
		t.fault("", "name is missing")
	}
	if c.Name != "" {
		t.label = fmt.Sprintf("command %q", short(c.Name))
		t.claim("name", c.Name, names)
	}
	c.Aliases = t.texts("aliases", maxAliases, maxLine)
	for _, alias := range c.Aliases {
		t.claim("aliases", alias, names)
	}
	if c.Help = t.text("help", maxHelp); !t.has("help") {
		t.fault("", "help is missing, the line about it in the list of commands")
	} else if strings.Contains(c.Help, "\n") {
		t.fault("help", "must be one line")
	}
	c.Params = t.params()
	t.scope(&c)
	c.Cooldown = t.cooldown()
	c.Timeout = t.duration("timeout", minTimeout, maxTimeout)
	t.answer(&c)
	t.done()
	return c
}

// claim checks a command's name and notes whose it is.
func (t *table) claim(field, name string, names map[string]string) {
	if err := asked.CheckName(name); err != nil {
		t.fault(field, "%v", err)
		return
	}
	folded := asked.Fold(name)
	if other, taken := names[folded]; taken {
		t.fault(field, "%q is taken by %s; capitals and Polish letters make no difference", name, other)
		return
	}
	names[folded] = t.label
}

// scope reads where a command works and for whom.
func (t *table) scope(c *Command) {
	c.Where = map[string]Where{"both": Anywhere, "group": InGroups, "direct": InDirect}[t.word("where", "both", "group", "direct")]
	c.Admins = t.word("who", "everyone", "admins") == "admins"
	for _, id := range t.texts("people", maxPeople, maxLine) {
		if id = strings.ToLower(id); !uuidForm.MatchString(id) {
			t.fault("people", "%q is no uuid of a person", short(id))
		}
		c.People = append(c.People, id)
	}
	for _, id := range t.texts("groups", maxGroups, maxLine) {
		group, ok := groupID(id)
		if !ok {
			t.fault("groups", "%q is no id of a group", short(id))
		}
		c.Groups = append(c.Groups, group)
	}
	// An empty list would be taken for everybody and everywhere.
	for field, n := range map[string]int{"people": len(c.People), "groups": len(c.Groups)} {
		if t.has(field) && n == 0 {
			t.fault(field, "has nobody in it; leave it out for everybody")
		}
	}
	if c.Where == InDirect && len(c.Groups) > 0 {
		t.fault("groups", `where = "direct" leaves no group`)
	}
}

// groupID reads a group's id in either spelling.
func groupID(id string) (internal string, ok bool) {
	if internal, ok = envelope.InternalGroupID(id); ok {
		return internal, true
	}
	return id, envelope.IsInternalGroupID(id)
}

// cooldown reads how long people wait: one time, of the same person, or several.
func (t *table) cooldown() *Cooldown {
	v, ok := t.take("cooldown")
	if !ok {
		return nil
	}
	if _, several := v.(map[string]any); !several {
		return &Cooldown{User: t.asDuration("cooldown", v, 0, maxCooldown)}
	}
	s := t.table("cooldown")
	c := &Cooldown{}
	for field, d := range map[string]*time.Duration{
		"user": &c.User, "user_group": &c.UserGroup, "group": &c.Group, "command": &c.Command, "global": &c.Global,
	} {
		*d = s.duration(field, 0, maxCooldown)
	}
	s.done()
	return c
}

// params reads what a command is given.
func (t *table) params() []asked.Param {
	var all []asked.Param
	before := len(t.r.faults)
	for _, s := range t.tables("params", maxParams) {
		p := asked.Param{Name: s.text("name", maxLine), Optional: s.flag("optional"), Min: s.number("min"), Max: s.number("max")}
		if err := asked.CheckName(p.Name); err != nil {
			s.fault("name", "must be a word: %v", err)
		} else if reserved(p.Name) {
			s.fault("name", "%q has a meaning of its own in addresses", p.Name)
		}
		kinds := map[string]asked.Kind{"word": asked.Word, "number": asked.Number, "rest": asked.Rest, "person": asked.Person}
		p.Kind = kinds[s.word("kind", "word", "number", "rest", "person")]
		if p.Kind != asked.Number && (s.has("min") || s.has("max")) {
			s.fault("kind", "only a number has min and max")
		}
		if s.has("min") != s.has("max") {
			s.fault("", "min and max go together")
		}
		s.done()
		all = append(all, p)
	}
	if len(t.r.faults) > before {
		return nil // what follows from that is no news
	}
	if err := asked.CheckParams(all); err != nil {
		t.fault("params", "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return all
}
