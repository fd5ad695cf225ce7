package bus

import "quartet/services/busd/internal/wire"

var propertiesInterface = iface{
	name: "org.freedesktop.DBus.Properties",
	methods: []method{
		{name: "Get", in: []arg{{"s", "interface"}, {"s", "name"}}, out: []arg{{"v", "value"}}, call: (*Bus).getProperty},
		{name: "GetAll", in: []arg{{"s", "interface"}}, out: []arg{{"a{sv}", "values"}}, call: (*Bus).getAllProperties},
		{name: "Set", in: []arg{{"s", "interface"}, {"s", "name"}, {"v", "value"}}, call: (*Bus).setProperty},
	},
	signals: []signal{{"PropertiesChanged", []arg{{"s", "interface"}, {"a{sv}", "changed"}, {"as", "invalidated"}}}},
}

func propertiesOf(name string) ([]property, *refusal) {
	for _, in := range interfaces {
		if in.name == name {
			return in.properties, nil
		}
	}
	return nil, refused(unknownInterface, "There is no interface '%s' at %s", name, wire.BusPath)
}

func findProperty(in, name string) (*property, *refusal) {
	list, why := propertiesOf(in)
	if why != nil {
		return nil, why
	}
	for i := range list {
		if list[i].name == name {
			return &list[i], nil
		}
	}
	return nil, refused(unknownProperty, "Interface '%s' has no property '%s'", in, name)
}

func (b *Bus) getProperty(p *Peer, d *wire.Decoder) *refusal {
	found, why := findProperty(d.String(), d.String())
	if why != nil {
		return why
	}
	e := b.reply(p, "v")
	e.Variant(found.kind)
	found.write(b, e)
	b.say(p)
	return nil
}

func (b *Bus) getAllProperties(p *Peer, d *wire.Decoder) *refusal {
	list, why := propertiesOf(d.String())
	if why != nil {
		return why
	}
	e := b.reply(p, "a{sv}")
	mark := e.OpenArray(8)
	for i := range list {
		e.DictEntry()
		e.String(list[i].name)
		e.Variant(list[i].kind)
		list[i].write(b, e)
	}
	e.CloseArray(mark)
	b.say(p)
	return nil
}

func (b *Bus) setProperty(_ *Peer, d *wire.Decoder) *refusal {
	in, name := d.String(), d.String()
	if _, why := findProperty(in, name); why != nil {
		return why
	}
	return refused(propertyReadOnly, "Property '%s' of '%s' cannot be set", name, in)
}
