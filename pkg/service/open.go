package service

import (
	"cmp"

	"github.com/google/uuid"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/onbus"
)

// Run opens the bus of a process, has members build the parts of the service on it, and runs them until the process drains. given
// is a connection to use, which stays open; with nil the process opens one. A process that was told to end before it began has done
// all that was asked of it and returns nil. Errors: host.ErrUnavailable without a bus, events.Faults for streams that are wrong,
// and those of members and of each member.
func Run(p *host.Process, given *bus.Bus, members func(b *bus.Bus) ([]host.Member, error)) error {
	b, err := onbus.Open(p.Intake(), p, given)
	if p.Intake().Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	parts, err := members(b)
	if p.Intake().Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	return host.RunGroup(p.Intake(), parts...)
}

// Owner returns the name under which a process claims runs: the given one, or a new one that no other process has.
func Owner(given, service string) string { return cmp.Or(given, service+"-"+uuid.NewString()) }

// Hook converts the hook of an embedding program to that of a loop; nil stays nil.
func Hook[P ~string](given func(point string) error) func(P) error {
	if given == nil {
		return nil
	}
	return func(p P) error { return given(string(p)) }
}

// Points returns the names of a loop's points.
func Points[P ~string](points []P) []string {
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = string(p)
	}
	return names
}
