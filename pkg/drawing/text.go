package drawing

import (
	"fmt"
	"strconv"
	"strings"
)

// class returns the style of a status, "" if it has none.
func class(status string) string {
	switch status {
	case "FINISHED":
		return "done"
	case "FAILED":
		return "failed"
	case "STOPPED":
		return "stopped"
	case "RUNNING", "READY", "PLANNING", "FINALIZING":
		return "running"
	case "WAITING":
		return "waiting"
	case "LEGACY":
		return "legacy"
	}
	return ""
}

// colour returns the fill of a style.
func colour(class string) string {
	switch class {
	case "done":
		return "#d7f0db"
	case "failed":
		return "#f8d7d7"
	case "stopped", "legacy":
		return "#e4e4e4"
	case "running":
		return "#d6e6fa"
	case "waiting":
		return "#fbefc9"
	}
	return "#ffffff"
}

func mermaid(g Graph) string {
	var b strings.Builder
	if g.Title != "" {
		fmt.Fprintf(&b, "---\ntitle: %s\n---\n", strconv.Quote(g.Title))
	}
	b.WriteString("flowchart TD\n")
	escape := strings.NewReplacer(`"`, "#quot;", "\n", " ", "<", "#lt;", ">", "#gt;")
	for i, n := range g.Nodes {
		label := escape.Replace(n.label())
		if n.Expert != "" {
			label += "<br/><small>" + escape.Replace(n.Expert) + "</small>"
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]", i, label)
		if c := class(n.Status); c != "" {
			b.WriteString(":::" + c)
		}
		b.WriteString("\n")
	}
	for from, list := range g.edges() {
		for _, to := range list {
			fmt.Fprintf(&b, "  n%d --> n%d\n", from, to)
		}
	}
	for _, c := range []string{"done", "failed", "stopped", "running", "waiting", "legacy"} {
		fmt.Fprintf(&b, "  classDef %s fill:%s\n", c, colour(c))
	}
	return b.String()
}

func dot(g Graph) string {
	var b strings.Builder
	b.WriteString("digraph jobgraph {\n  rankdir=TB;\n  node [shape=box style=\"rounded,filled\" fillcolor=white fontname=\"sans-serif\"];\n")
	if g.Title != "" {
		fmt.Fprintf(&b, "  label=%s;\n  labelloc=t;\n", quote(g.Title))
	}
	for _, n := range g.Nodes {
		label := n.label()
		if n.Expert != "" {
			label += "\n" + n.Expert
		}
		fmt.Fprintf(&b, "  %s [label=%s fillcolor=%s];\n", quote(n.ID), quote(label), quote(colour(class(n.Status))))
	}
	for from, list := range g.edges() {
		for _, to := range list {
			fmt.Fprintf(&b, "  %s -> %s;\n", quote(g.Nodes[from].ID), quote(g.Nodes[to].ID))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// quote returns a DOT string: a newline is \n; quotes and backslashes are escaped.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
