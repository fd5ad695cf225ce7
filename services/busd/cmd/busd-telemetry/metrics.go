package main

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"quartet/services/busd/internal/bus"
)

// number is one value of the statistics as a metric.
type number struct {
	name, unit, text string
	gauge            bool
	of               func(*bus.Stats) int64
}

var numbers = []number{
	{"quartet.busd.connections.accepted", "{connection}", "Connections that were accepted.", false, func(s *bus.Stats) int64 { return int64(s.Accepted) }},
	{"quartet.busd.messages", "{message}", "Messages that clients sent.", false, func(s *bus.Stats) int64 { return int64(s.Messages) }},
	{"quartet.busd.deliveries", "{message}", "Messages that clients got, each counted for each.", false, func(s *bus.Stats) int64 { return int64(s.Delivered) }},
	{"quartet.busd.received", "By", "What clients sent.", false, func(s *bus.Stats) int64 { return int64(s.ReceivedBytes) }},
	{"quartet.busd.sent", "By", "What clients were sent.", false, func(s *bus.Stats) int64 { return int64(s.SentBytes) }},
	{"quartet.busd.turns", "{turn}", "Turns of the loop.", false, func(s *bus.Stats) int64 { return int64(s.Turns) }},
	{"quartet.busd.reads", "{call}", "System calls that read.", false, func(s *bus.Stats) int64 { return int64(s.Reads) }},
	{"quartet.busd.sends", "{call}", "System calls that sent.", false, func(s *bus.Stats) int64 { return int64(s.Sends) }},
	{"quartet.busd.refusals", "{message}", "Messages that were answered with an error by the bus.", false, func(s *bus.Stats) int64 { return int64(s.Refused) }},
	{"quartet.busd.rejections", "{message}", "Messages that the policy stopped.", false, func(s *bus.Stats) int64 { return int64(s.Rejected) }},
	{"quartet.busd.over_limit", "{message}", "Messages that a limit stopped.", false, func(s *bus.Stats) int64 { return int64(s.OverLimit) }},
	{"quartet.busd.shortages", "{time}", "Times that no file descriptor was left for a connection.", false, func(s *bus.Stats) int64 { return int64(s.Shortages) }},
	{"quartet.busd.activations", "{activation}", "Services that were started.", false, func(s *bus.Stats) int64 { return int64(s.Activations) }},
	{"quartet.busd.activations.failed", "{activation}", "Services whose name did not come.", false, func(s *bus.Stats) int64 { return int64(s.ActivationsFailed) }},
	{"quartet.busd.connections", "{connection}", "Connections that have said Hello.", true, func(s *bus.Stats) int64 { return int64(s.Now.Connections) }},
	{"quartet.busd.connections.incomplete", "{connection}", "Connections that have not said Hello.", true, func(s *bus.Stats) int64 { return int64(s.Now.Incomplete) }},
	{"quartet.busd.monitors", "{connection}", "Connections that are monitors.", true, func(s *bus.Stats) int64 { return int64(s.Now.Monitors) }},
	{"quartet.busd.names", "{name}", "Well-known names that have an owner.", true, func(s *bus.Stats) int64 { return int64(s.Now.Names) }},
	{"quartet.busd.rules", "{rule}", "Match rules.", true, func(s *bus.Stats) int64 { return int64(s.Now.Rules) }},
	{"quartet.busd.pending_replies", "{call}", "Calls that await a reply.", true, func(s *bus.Stats) int64 { return int64(s.Now.PendingReplies) }},
	{"quartet.busd.activations.pending", "{activation}", "Services whose name is awaited.", true, func(s *bus.Stats) int64 { return int64(s.Now.Activations) }},
	{"quartet.busd.waiting", "By", "What waits for clients to read it.", true, func(s *bus.Stats) int64 { return s.Now.WaitingBytes }},
	{"quartet.busd.waiting.fds", "{descriptor}", "File descriptors that wait for clients to read them.", true, func(s *bus.Stats) int64 { return s.Now.WaitingFDs }},
	{"quartet.busd.open_fds", "{descriptor}", "File descriptors of messages that are open in the bus.", true, func(s *bus.Stats) int64 { return int64(s.Now.OpenFDs) }},
}

// register has the statistics read whenever somebody collects metrics, once for
// all of them.
func register(provider metric.MeterProvider, stats func(context.Context) (bus.Stats, error)) error {
	meter := provider.Meter("quartet/services/busd")
	var faults []error
	instruments := make([]metric.Int64Observable, len(numbers))
	all := []metric.Observable{}
	for i, n := range numbers {
		var err error
		if n.gauge {
			instruments[i], err = meter.Int64ObservableUpDownCounter(n.name, metric.WithUnit(n.unit), metric.WithDescription(n.text))
		} else {
			instruments[i], err = meter.Int64ObservableCounter(n.name, metric.WithUnit(n.unit), metric.WithDescription(n.text))
		}
		faults, all = append(faults, err), append(all, instruments[i])
	}
	ended, err := meter.Int64ObservableCounter("quartet.busd.connections.ended", metric.WithUnit("{connection}"), metric.WithDescription("Connections that ended, by reason."))
	faults = append(faults, err)
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("make metrics: %w", err)
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, statsTimeout)
		defer cancel()
		s, err := stats(ctx)
		if err != nil {
			return err
		}
		for i, n := range numbers {
			o.ObserveInt64(instruments[i], n.of(&s))
		}
		for i, reason := range bus.Reasons {
			o.ObserveInt64(ended, int64(s.Ended[i]), metric.WithAttributes(attribute.String("reason", reason)))
		}
		return nil
	}, append(all, ended)...)
	return err
}
