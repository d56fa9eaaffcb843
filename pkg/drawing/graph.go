package drawing

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Graph is what Draw draws: nodes, each with the nodes that it depends on.
type Graph struct {
	// Title is printed above the picture.
	Title string `json:"title,omitempty"`
	// Nodes are in the order of the plan.
	Nodes []Node `json:"nodes"`
}

// Node is one SubJob.
type Node struct {
	// ID identifies it; Title is for people.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Expert and Status are shown if set.
	Expert string `json:"expert,omitempty"`
	Status string `json:"status,omitempty"`
	// Dependencies are the ids of the direct predecessors; unknown ones are not drawn.
	Dependencies []string `json:"dependencies,omitempty"`
	// ExecutionRes is the result of a step that is done, ExecutionRef the blob with it; neither is drawn.
	ExecutionRes json.RawMessage `json:"execution_res,omitempty"`
	ExecutionRef *events.Ref     `json:"execution_ref,omitempty"`
}

// label returns the title, or the id if there is none.
func (n Node) label() string {
	if n.Title != "" {
		return n.Title
	}
	return n.ID
}

// Formats returns the formats that Draw supports.
func Formats() []string { return []string{"ascii", "mermaid", "dot", "svg"} }

// Draw writes the graph in one of Formats. width limits the columns, for ascii; 0 means no limit. Titles and names may come
// from anyone, so they are sanitised by OneLine.
func Draw(w io.Writer, g Graph, format string, width int) error {
	g = g.legible()
	var text string
	switch format {
	case "ascii":
		text = terminal(g, width)
	case "mermaid":
		text = mermaid(g)
	case "dot":
		text = dot(g)
	case "svg":
		text = svg(g)
	default:
		return fmt.Errorf("unknown form %q: use one of %v", format, Formats())
	}
	_, err := io.WriteString(w, text)
	return err
}

// legible returns the graph with every text on one line.
func (g Graph) legible() Graph {
	g.Title, g.Nodes = OneLine(g.Title), slices.Clone(g.Nodes)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.ID, n.Title, n.Expert, n.Dependencies = OneLine(n.ID), OneLine(n.Title), OneLine(n.Expert), slices.Clone(n.Dependencies)
		for k := range n.Dependencies {
			n.Dependencies[k] = OneLine(n.Dependencies[k])
		}
	}
	return g
}

// edges returns, for each node, the positions of its successors, each once, in order.
func (g Graph) edges() [][]int {
	at := make(map[string]int, len(g.Nodes))
	for i, n := range g.Nodes {
		at[n.ID] = i
	}
	succs := make([][]int, len(g.Nodes))
	for i, n := range g.Nodes {
		for _, id := range n.Dependencies {
			from, ok := at[id]
			if !ok || from == i || len(succs[from]) > 0 && succs[from][len(succs[from])-1] == i {
				continue // Successors come in order, so only the last one can be this node.
			}
			succs[from] = append(succs[from], i)
		}
	}
	return succs
}
