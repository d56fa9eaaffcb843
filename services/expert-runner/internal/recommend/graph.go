package recommend

import (
	"fmt"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// DefaultThreshold is the default minimum score of an edge.
const DefaultThreshold = 0.5

// Graph has actions by name. Every edge has a score from 0 to 1 that says how well its end fits its start.
type Graph map[string]Action

// Action is a way to go about work.
type Action struct {
	// Description describes it to the model.
	Description string `yaml:"description"`
	// Tools are its tools, or patterns of tool names such as server__*, with their scores.
	Tools map[string]float64 `yaml:"tools"`
	// Next are related actions, with their scores.
	Next map[string]float64 `yaml:"next"`
}

// Wish says where a recommendation begins, and how far it goes.
type Wish struct {
	// Actions are the actions to begin with.
	Actions []string
	// Hops is how many edges between actions are followed, Threshold the minimum score of an edge of either kind.
	Hops      int
	Threshold float64
}

// Recommendation is the part of a graph that matches a wish.
type Recommendation struct {
	// Actions are the reached actions, nearest first, then by name.
	Actions []Way
	// Tools are the tools and patterns of all of them, without duplicates, in the order of the actions and by name.
	Tools []string
}

// Way is a recommended action.
type Way struct {
	// Name and Description are the action's; Tools are its tools with a sufficient score.
	Name, Description string
	Tools             []string
}

// Recommend walks the graph from the actions of a wish. Unknown actions are ignored.
func (g Graph) Recommend(w Wish) (r Recommendation) {
	reached := map[string]bool{}
	frontier := slices.Clone(w.Actions)
	for hop := 0; len(frontier) > 0 && hop <= w.Hops; hop++ {
		var beyond []string
		for _, name := range frontier {
			action, there := g[name]
			if !there || reached[name] {
				continue
			}
			reached[name] = true
			way := Way{Name: name, Description: action.Description, Tools: fitting(action.Tools, w.Threshold)}
			r.Actions = append(r.Actions, way)
			for _, tool := range way.Tools {
				if !slices.Contains(r.Tools, tool) {
					r.Tools = append(r.Tools, tool)
				}
			}
			beyond = append(beyond, fitting(action.Next, w.Threshold)...)
		}
		slices.Sort(beyond)
		frontier = beyond
	}
	return r
}

// fitting returns the ends of edges with a sufficient score, sorted.
func fitting(edges map[string]float64, threshold float64) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(edges)) {
		if edges[name] >= threshold {
			names = append(names, name)
		}
	}
	return names
}

// Faults are everything that is wrong with a graph; known reports whether a tool or group of tools exists. The fields are below
// the given one.
func (g Graph) Faults(field string, known func(name string) bool) (faults events.Faults) {
	for _, name := range slices.Sorted(maps.Keys(g)) {
		at := field + "." + name
		if !events.ValidID(name) {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: at, Message: fmt.Sprintf("%q is no name of an action", name), Hint: "use 1 to 64 of A-Z a-z 0-9 _ -"})
		}
		faults = append(faults, edgeFaults(at+".tools", g[name].Tools, "tool", known)...)
		faults = append(faults, edgeFaults(at+".next", g[name].Next, "action", func(next string) bool { _, there := g[next]; return there })...)
	}
	return faults
}

// edgeFaults returns what is wrong with the edges of an action to ends of one kind.
func edgeFaults(field string, edges map[string]float64, kind string, known func(string) bool) (faults events.Faults) {
	for _, end := range slices.Sorted(maps.Keys(edges)) {
		add := func(message, hint string) {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field + "." + end, Message: message, Hint: hint})
		}
		if !known(end) {
			add(fmt.Sprintf("there is no %s %q", kind, end), "")
		}
		if score := edges[end]; !(score >= 0 && score <= 1) {
			add(fmt.Sprintf("the score %v is not from 0 to 1", score), "1 fits best")
		}
	}
	return faults
}
