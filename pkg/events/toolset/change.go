package toolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is what a request changes about the tools of the agents of its job. The zero value changes nothing.
type Change struct {
	Web      *bool             `json:"web,omitempty"`      // Web is false to take away the tools that reach the web; true and nil change nothing.
	Searches *int              `json:"searches,omitempty"` // Searches limits the web searches in one run of an agent.
	Results  *int              `json:"results,omitempty"`  // Results limits the results of one search; 0 leaves it to the tool.
	Servers  map[string]Server `json:"servers,omitempty"`  // Servers are MCP servers that the operator lends to requests, by name.
}

// Server selects from an MCP server.
type Server struct {
	Tools   []string `json:"tools,omitempty"`   // Tools are its tools by the server's own names; empty means all.
	Experts []string `json:"experts,omitempty"` // Experts are the ids or names of the agents that get them; empty means every agent of the job.
}

// IsZero reports whether nothing is changed.
func (c *Change) IsZero() bool {
	return c == nil || c.Web == nil && c.Searches == nil && c.Results == nil && len(c.Servers) == 0
}

// Offline reports whether no tool may reach the web.
func (c *Change) Offline() bool { return c != nil && c.Web != nil && !*c.Web }

// The limits of a Change.
const (
	MaxServers = 16   // Servers, tools of one server, and experts that get them.
	MaxNumber  = 1000 // The largest number of searches and of results.
)

// Faults lists what is wrong, by field.
func (c *Change) Faults() map[string]string {
	faults := map[string]string{}
	for field, n := range map[string]*int{"searches": c.Searches, "results": c.Results} { // any order: the result is a map.
		if n != nil && (*n < 0 || *n > MaxNumber) {
			faults[field] = fmt.Sprintf("%d is outside 0 to %d", *n, MaxNumber)
		}
	}
	if len(c.Servers) > MaxServers {
		faults["servers"] = fmt.Sprintf("%d servers, at most %d are taken", len(c.Servers), MaxServers)
	}
	for name, s := range c.Servers { // any order: the result is a map.
		if name == "" || max(len(s.Tools), len(s.Experts)) > MaxServers || slices.Contains(slices.Concat(s.Tools, s.Experts), "") {
			faults["servers."+name] = fmt.Sprintf("names are not empty, and there are at most %d", MaxServers)
		}
	}
	return faults
}

// String says what is changed, for people; "" if nothing is.
func (c *Change) String() string {
	var parts []string
	if c.Offline() {
		parts = append(parts, "no web")
	}
	if c.Searches != nil {
		parts = append(parts, fmt.Sprintf("at most %d searches in a run", *c.Searches))
	}
	if c.Results != nil && *c.Results > 0 {
		parts = append(parts, fmt.Sprintf("at most %d results of a search", *c.Results))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s := c.Servers[name]
		text := "server " + name
		if len(s.Tools) > 0 {
			text += " (" + strings.Join(s.Tools, ", ") + ")"
		}
		if len(s.Experts) > 0 {
			text += " for " + strings.Join(s.Experts, ", ")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// Foreign are servers in the form of the field mcp_settings of predecessor systems.
type Foreign map[string]Server

// ErrOwnServer is the error of a server that the request itself describes.
var ErrOwnServer = errors.New("servers of tools are those that the operator lends")

// UnmarshalJSON implements json.Unmarshaler. A server with an address or a program of its own is ErrOwnServer.
func (f *Foreign) UnmarshalJSON(text []byte) error {
	var settings struct {
		Servers map[string]map[string]json.RawMessage `json:"servers"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Servers)) {
		var s Server
		for _, field := range slices.Sorted(maps.Keys(settings.Servers[name])) {
			value := settings.Servers[name][field]
			var err error
			switch field {
			case "enabled_tools":
				err = json.Unmarshal(value, &s.Tools)
			case "add_to_agents":
				err = json.Unmarshal(value, &s.Experts)
			default:
				err = fmt.Errorf("%w: %s of %.40q", ErrOwnServer, field, name)
			}
			if err != nil {
				return err
			}
		}
		if *f == nil {
			*f = Foreign{}
		}
		(*f)[name] = s
	}
	return nil
}
