package busconf

import (
	"errors"
	"fmt"
	"path"

	"quartet/services/busd/internal/policy"
)

// kind is what may be said about an element, and what it means.
type kind struct {
	parent string // empty for the root
	attrs  []string
	rule   bool // attributes are left to package policy
	text   bool // has content, which must not be blank
	end    func(*parser, *element) error
}

// newGrammar has every element. Each stands in one other only, so the nesting
// of a file is bounded.
func newGrammar() map[string]*kind {
	return map[string]*kind{
		"busconfig": {},

		"type":    textual(func(c *Config, s string) { c.Type = s }),
		"user":    textual(func(c *Config, s string) { c.User = s }),
		"pidfile": textual(func(c *Config, s string) { c.PIDFile = s }),
		"listen":  textual(func(c *Config, s string) { c.Listen = append(c.Listen, s) }),
		"auth":    textual(func(c *Config, s string) { c.Auth = append(c.Auth, s) }),

		"fork":            flag(func(c *Config) { c.Fork = true }),
		"keep_umask":      flag(func(c *Config) { c.KeepUmask = true }),
		"syslog":          flag(func(c *Config) { c.Syslog = true }),
		"allow_anonymous": flag(func(c *Config) { c.AllowAnonymous = true }),

		"servicedir":                   {parent: "busconfig", text: true, end: endServiceDir},
		"servicehelper":                {parent: "busconfig", text: true, end: endServiceHelper},
		"standard_session_servicedirs": {parent: "busconfig", end: endSessionDirs},
		"standard_system_servicedirs":  {parent: "busconfig", end: endSystemDirs},

		"include": {parent: "busconfig", text: true, end: endInclude,
			attrs: []string{"ignore_missing", "if_selinux_enabled", "selinux_root_relative"}},
		"includedir": {parent: "busconfig", text: true, end: endIncludeDir},
		"limit":      {parent: "busconfig", text: true, end: endLimit, attrs: []string{"name"}},

		"policy": {parent: "busconfig", end: endPolicy, attrs: []string{"context", "user", "group", "at_console"}},
		"allow":  {parent: "policy", rule: true, end: endRule},
		"deny":   {parent: "policy", rule: true, end: endRule},

		"selinux":   {parent: "busconfig"},
		"associate": {parent: "selinux", end: endAssociate, attrs: []string{"own", "context"}},
		"apparmor":  {parent: "busconfig", end: endAppArmor, attrs: []string{"mode"}},
	}
}

// textual is an element whose content is a setting.
func textual(set func(*Config, string)) *kind {
	return &kind{parent: "busconfig", text: true, end: func(p *parser, e *element) error {
		set(p.config, e.content())
		return nil
	}}
}

// flag is an element whose presence is a setting.
func flag(set func(*Config)) *kind {
	return &kind{parent: "busconfig", end: func(p *parser, _ *element) error {
		set(p.config)
		return nil
	}}
}

// resolve makes a path absolute or relative to the working directory: in a
// file paths are relative to the directory of the file.
func (p *parser) resolve(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(path.Dir(p.file), name)
}

func endServiceDir(p *parser, e *element) error {
	p.config.addServiceDir(ServiceDir{Path: p.resolve(e.content())})
	return nil
}

func endServiceHelper(p *parser, e *element) error {
	p.config.ServiceHelper = p.resolve(e.content())
	return nil
}

func endSessionDirs(p *parser, _ *element) error {
	for _, d := range sessionDirs(p.loader.source.Getenv) {
		p.config.addServiceDir(d)
	}
	return nil
}

func endSystemDirs(p *parser, _ *element) error {
	for _, d := range systemDirs() {
		p.config.addServiceDir(d)
	}
	return nil
}

func endInclude(p *parser, e *element) error {
	var yes [3]bool
	for i, name := range e.kind.attrs {
		value, given := e.attr(name)
		if given && value != "yes" && value != "no" {
			return fmt.Errorf("<include>: %s=%q must be yes or no", name, value)
		}
		yes[i] = value == "yes"
	}
	ignoreMissing, ifSELinux, relativeToSELinux := yes[0], yes[1], yes[2]
	root := p.loader.source.SELinuxRoot
	if ifSELinux && root == "" {
		return nil
	}
	file := p.resolve(e.content())
	if relativeToSELinux {
		if root == "" {
			return errors.New(`<include>: selinux_root_relative="yes" but SELinux is off: add if_selinux_enabled="yes"`)
		}
		file = path.Join(root, e.content())
	}
	return p.loader.include(p.config, file, ignoreMissing)
}

func endIncludeDir(p *parser, e *element) error {
	return p.loader.includeDir(p.config, p.resolve(e.content()))
}

func endLimit(p *parser, e *element) error {
	name, given := e.attr("name")
	if !given {
		return errors.New("<limit> needs the attribute name")
	}
	return p.config.Limits.Set(name, e.content())
}

// endRule hands a rule to the policy around it.
func endRule(p *parser, e *element) error {
	r, err := policy.ParseRule(e.name == "allow", e.attrs, p.file, e.line)
	if err != nil {
		return fmt.Errorf("<%s>: %w", e.name, err)
	}
	around := p.open[len(p.open)-1]
	around.rules = append(around.rules, r)
	return nil
}

func endPolicy(p *parser, e *element) error {
	if len(e.attrs) != 1 {
		return errors.New("<policy> needs exactly one of the attributes context, user, group and at_console")
	}
	s := policy.Section{Rules: e.rules, File: p.file, Line: e.line}
	var err error
	if s.Context, s.Name, err = context(e.attrs[0]); err != nil {
		return err
	}
	if s.Context != policy.Default && s.Context != policy.Mandatory {
		for _, r := range s.Rules {
			if r.Connects() {
				return p.at(r.Line, fmt.Errorf("%s can only stand in a <policy> with context: who may connect is decided for all alike", r.Text))
			}
		}
	}
	p.config.Policies = append(p.config.Policies, s)
	return nil
}

// context is whom a <policy> is for.
func context(a policy.Attr) (policy.Context, string, error) {
	switch a.Name + "=" + a.Value {
	case "context=default":
		return policy.Default, "", nil
	case "context=mandatory":
		return policy.Mandatory, "", nil
	case "at_console=true":
		return policy.AtConsole, "", nil
	case "at_console=false":
		return policy.NotAtConsole, "", nil
	}
	switch {
	case a.Name == "context":
		return 0, "", fmt.Errorf("<policy>: context=%q must be default or mandatory", a.Value)
	case a.Name == "at_console":
		return 0, "", fmt.Errorf("<policy>: at_console=%q must be true or false", a.Value)
	case a.Value == "":
		return 0, "", fmt.Errorf("<policy>: %s is empty", a.Name)
	case a.Name == "user":
		return policy.User, a.Value, nil
	}
	return policy.Group, a.Value, nil
}

func endAssociate(p *parser, e *element) error {
	own, _ := e.attr("own")
	label, _ := e.attr("context")
	if own == "" || label == "" {
		return errors.New("<associate> needs the attributes own and context")
	}
	s := &p.config.Security
	s.Associations = append(s.Associations, Association{Own: own, Context: label})
	return nil
}

func endAppArmor(p *parser, e *element) error {
	mode, given := e.attr("mode")
	switch {
	case !given || mode == "enabled":
		p.config.Security.AppArmor = AppArmorEnabled
	case mode == "disabled":
		p.config.Security.AppArmor = AppArmorDisabled
	case mode == "required":
		p.config.Security.AppArmor = AppArmorRequired
	default:
		return fmt.Errorf("<apparmor>: mode=%q must be enabled, disabled or required", mode)
	}
	return nil
}
