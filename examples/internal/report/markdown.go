package report

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/examples/internal/rank"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
)

// Markdown writes the report. An inventory that is not known may be nil.
func Markdown(analysis rank.Analysis, inventory *scan.Inventory) string {
	var b strings.Builder
	title := "What matters in this graph"
	if inventory != nil {
		title = "What matters in " + inventory.Root
	}
	fmt.Fprintf(&b, "# %s\n\n%s\n\n![The most important entities and their relations](graph.svg)\n\n"+
		"The rank below is the share of a reader's attention, in thousandths, who follows the relations.\n\n", plain(title), Summary(analysis, inventory))
	ranked(&b, "The most important of all", analysis.Ranked[:min(15, len(analysis.Ranked))])
	for _, section := range []struct{ kind, title string }{
		{"package", "Packages"},
		{"module", "Modules"},
		{"type", "Types"},
		{"func", "Functions"},
		{"definition", "Definitions"},
		{"library", "Libraries it rests on"},
		{"document", "Documents"},
		{"name", "Names"},
		{"term", "Terms"},
		{"site", "Sites it links to"},
	} {
		ranked(&b, section.title, analysis.ByKind[section.kind])
	}
	described(&b, analysis.Described)
	counts(&b, analysis)
	if inventory != nil {
		files(&b, *inventory)
	}
	return b.String()
}

// Summary describes the result in a sentence or two.
func Summary(a rank.Analysis, inventory *scan.Inventory) string {
	var b strings.Builder
	if inventory != nil {
		fmt.Fprintf(&b, "%d source files and %d texts were read. ", inventory.CodeFiles, inventory.TextFiles)
	}
	fmt.Fprintf(&b, "They hold %d entities with %d relations in %d connected parts, the largest of %d entities.",
		a.Counts.Entities, a.Counts.Relations, a.Counts.Components, a.Counts.Largest)
	if len(a.Ranked) > 0 {
		fmt.Fprintf(&b, " The most important one is the %s %s.", a.Ranked[0].Kind, code(a.Ranked[0].Name))
	}
	return b.String()
}

func ranked(b *strings.Builder, title string, list []rank.Ranked) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n| rank | what | kind | where | in | out |\n|---:|---|---|---|---:|---:|\n", title)
	for _, e := range list {
		where := ""
		if e.File != "" {
			where = e.File
			if e.Line > 0 {
				where = fmt.Sprintf("%s:%d", e.File, e.Line)
			}
			where = code(where)
		}
		fmt.Fprintf(b, "| %.2f | %s | %s | %s | %d | %d |\n", float64(e.Rank)/1000, code(e.Name), e.Kind, where, e.In, e.Out)
	}
	b.WriteString("\n")
}

func described(b *strings.Builder, list []rank.Description) {
	if len(list) == 0 {
		return
	}
	b.WriteString("## Where the texts speak of the code\n\n| word | times | in the code |\n|---|---:|---|\n")
	for _, d := range list {
		fmt.Fprintf(b, "| %s | %d | %s |\n", plain(d.Name), d.Times, code(d.Code))
	}
	b.WriteString("\n")
}

func counts(b *strings.Builder, a rank.Analysis) {
	b.WriteString("## How much of what\n\n| kind | count |\n|---|---:|\n")
	for _, c := range a.Kinds {
		fmt.Fprintf(b, "| %s | %d |\n", c.Kind, c.Count)
	}
	for _, c := range a.Relations {
		fmt.Fprintf(b, "| … %s … | %d |\n", c.Kind, c.Count)
	}
	b.WriteString("\n")
}

func files(b *strings.Builder, inventory scan.Inventory) {
	b.WriteString("## What was read\n\n| language | files | lines |\n|---|---:|---:|\n")
	for _, l := range inventory.Languages {
		fmt.Fprintf(b, "| %s | %d | %d |\n", l.Name, l.Files, l.Lines)
	}
	if len(inventory.LeftOut) > 0 {
		b.WriteString("\n## What was left out\n\n| why | how many | for instance |\n|---|---:|---|\n")
	}
	for _, r := range inventory.LeftOut {
		fmt.Fprintf(b, "| %s | %d | %s |\n", r.Reason, r.Count, code(r.Example))
	}
}

// plain makes foreign text safe within a line or a table of Markdown.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "[", `\[`, "*", `\*`, "_", `\_`, "`", "'").Replace(s)
}

func code(s string) string {
	s = strings.NewReplacer("|", `\|`, "`", "'", "\n", " ", "\r", " ").Replace(s)
	return "`" + s + "`"
}
