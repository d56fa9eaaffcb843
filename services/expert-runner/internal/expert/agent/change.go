package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/toolset"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Lender makes tools of servers available to requests.
type Lender interface {
	// Lend returns patterns for the tools of a server with these names, or for all its tools without names. Errors: *events.Fault
	// for a server that the operator does not lend.
	Lend(server string, tools []string) (patterns []string, err error)
}

// changed returns the expert with the changes of a request: without the tools that reach the web, and with those of the servers
// that it names. Policies stay as they are. Errors: those of the Lender.
func (x *Expert) changed(c *toolset.Change) (*Expert, error) {
	if c.IsZero() {
		return x, nil
	}
	own := *x
	config := &own.config
	config.Workflow = slices.Clone(config.Workflow)
	config.limits = *c
	if c.Offline() {
		config.disconnect()
	}
	var lent []string
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		server := c.Servers[name]
		mine := func(id string) bool { return strings.EqualFold(id, config.ID) }
		if len(server.Experts) > 0 && !slices.ContainsFunc(server.Experts, mine) {
			continue
		}
		patterns, err := config.Lender.Lend(name, server.Tools)
		if err != nil {
			return nil, err
		}
		lent = append(lent, patterns...)
	}
	config.Tools = slices.Concat(config.Tools, lent)
	for i := range config.Workflow {
		if s := &config.Workflow[i]; s.Tools != nil {
			s.Tools = slices.Concat(s.Tools, lent)
		}
	}
	return &own, nil
}

// disconnect removes the tools that reach the web, and takes the network from programs.
func (c *Config) disconnect() {
	offline := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return name == tool.SearchWeb || name == tool.Fetch || name == tool.Browser
		})
	}
	c.Tools, c.Required = offline(c.Tools), offline(c.Required)
	for i := range c.Workflow {
		s := &c.Workflow[i]
		s.Tools, s.Required = offline(s.Tools), offline(s.Required)
	}
	if c.Programs != nil {
		programs := *c.Programs
		programs.Policy.Network = false
		c.Programs = &programs
	}
}

// spend counts a web search; if the request allows no further one, it returns why. Calls are counted in the order of the
// conversation, so a run that continues it counts the same.
func (r *run) spend(name string) string {
	most := r.config.limits.Searches
	if name != tool.SearchWeb || most == nil {
		return ""
	}
	if r.searched == *most {
		return fmt.Sprintf("the request allows %d searches in a run, and no more is left: work with what was found", *most)
	}
	r.searched++
	return ""
}

// results limits the results of a search; 0 leaves it to the tool.
func (c *Config) results() int {
	if c.limits.Results == nil {
		return 0
	}
	return *c.limits.Results
}
