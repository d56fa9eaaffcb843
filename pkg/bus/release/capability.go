package release

import (
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Capability is something that some releases know and others do not, with levels that only grow.
type Capability string

// The capabilities. Their names are on the wire.
const (
	// Rules is the highest version of the decision rules.
	Rules Capability = "rules"
)

// Service is the name of a micro service whose instances declare capabilities.
type Service string

// The services that declare capabilities.
const (
	Scheduler Service = "jobgraph-scheduler"
	Planner   Service = "jobgraph-planner"
	Gateway   Service = "jobgraph-gateway" // It declares no capabilities; its address identifies it.
	Runner    Service = "jobgraph-runner"  // It declares no capabilities; its cards say what it supports.
)

// AddressKey is the metadata key of the address at which a gateway serves HTTP.
const AddressKey = "jobgraph.http"

// line says which service needs a capability: level is the level of this release, silent that of a release that declares none.
type line struct {
	of            Capability
	by            Service
	level, silent int
}

// table lists all capabilities.
func table() []line {
	return []line{
		{of: Rules, by: Scheduler, level: events.RulesVersion, silent: 4}, // The first release that declared levels had 4, as had the one before it.
	}
}

// Levels are the capabilities of an instance.
type Levels map[Capability]int

// Of returns the levels of this release for a service.
func Of(s Service) Levels {
	known := Levels{}
	for _, l := range table() {
		if l.by == s {
			known[l.of] = l.level
		}
	}
	return known
}

// prefix begins the metadata keys that declare a capability.
const prefix = "jobgraph.knows."

// Metadata returns the metadata that declares the levels.
func (l Levels) Metadata() map[string]string {
	m := make(map[string]string, len(l))
	for c, level := range l { // any order: the result is a map as well.
		m[prefix+string(c)] = strconv.Itoa(level)
	}
	return m
}

// declared reads the levels of an instance from its metadata.
func declared(s Service, metadata map[string]string) Levels {
	known := Levels{}
	for _, l := range table() {
		if l.by != s {
			continue
		}
		known[l.of] = l.silent
		if level, err := strconv.Atoi(metadata[prefix+string(l.of)]); err == nil {
			known[l.of] = level
		}
	}
	return known
}
