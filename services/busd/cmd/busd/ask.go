package main

import (
	"fmt"
	"slices"

	"quartet/services/busd/internal/client"
	"quartet/services/busd/internal/wire"
)

const statsInterface = "org.freedesktop.DBus.Debug.Stats"

// callAbout calls a method of the bus about a name, or with "" about itself.
func callAbout(c *client.Conn, iface, method, name string) (*client.Message, error) {
	h := wire.Header{Path: wire.BusPath, Interface: iface, Member: method, Destination: wire.BusName}
	if name == "" {
		return c.Call(h, nil)
	}
	h.Signature = "s"
	return c.Call(h, func(e *wire.Encoder) { e.String(name) })
}

// stats asks Debug.Stats for numbers; what is no number is passed over.
func stats(c *client.Conn, method, name string) (counts, error) {
	reply, err := callAbout(c, statsInterface, method, name)
	if err != nil {
		return nil, err
	}
	all := counts{}
	d := reply.Values()
	for end := d.Array(8); d.More(end); {
		d.Struct()
		key := d.String()
		if kind := d.Variant(); kind == "u" {
			all[key] = d.Uint32()
		} else {
			d.Skip(kind)
		}
	}
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", method, err)
	}
	return all, nil
}

// listNames are all names on the bus, sorted.
func listNames(c *client.Conn) ([]string, error) {
	reply, err := callAbout(c, wire.BusName, "ListNames", "")
	if err != nil {
		return nil, err
	}
	var names []string
	d := reply.Values()
	for end := d.Array(4); d.More(end); {
		names = append(names, d.String())
	}
	slices.Sort(names)
	return names, d.Err()
}
