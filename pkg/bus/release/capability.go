package release

import (
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Capability is something that one release knows and another does not, in levels that only grow.
type Capability string

// The capabilities. Their names are on the wire.
const (
	// Rules is the highest number of the decision rules.
	Rules Capability = "rules"
)

// Service is the name of a micro service whose instances declare what they know.
type Service string

// The services that declare capabilities.
const (
	Scheduler Service = "jobgraph-scheduler"
	Planner   Service = "jobgraph-planner"
)

// line says who has to know a capability: to level by this release, and to silent by one whose instances do not name it.
type line struct {
	of            Capability
	by            Service
	level, silent int
}

// table is all that is declared.
func table() []line {
	return []line{
		{of: Rules, by: Scheduler, level: events.RulesVersion, silent: 4}, // The first release that declared anything knew 4, and so did the one before.
	}
}

// Levels are what an instance knows.
type Levels map[Capability]int

// Of gives what this release's instances of a service know.
func Of(s Service) Levels {
	known := Levels{}
	for _, l := range table() {
		if l.by == s {
			known[l.of] = l.level
		}
	}
	return known
}

// prefix begins the keys of metadata that declare a capability.
const prefix = "jobgraph.knows."

// Metadata is how levels are declared.
func (l Levels) Metadata() map[string]string {
	m := make(map[string]string, len(l))
	for c, level := range l { // any order: a map becomes another.
		m[prefix+string(c)] = strconv.Itoa(level)
	}
	return m
}

// declared reads the levels of an instance of a service out of its metadata.
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
