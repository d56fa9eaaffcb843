package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// mostNamed limits the listed violations of a kind.
const mostNamed = 10

// Print writes the report for people.
func (r *Report) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(name string, value any) { _, _ = fmt.Fprintf(w, "%s\t%v\n", name, value) } // Flush returns the error.
	line("faults", r.Faults)
	for _, kind := range slices.Sorted(maps.Keys(r.By)) {
		line("  "+kind, r.By[kind])
	}
	line("  with programs at work", r.InFlight)
	line("  while another lasted", r.Overlapping)
	for _, s := range r.Stays {
		line("  "+s.Mix, s.text())
	}
	line("jobs accepted", r.Accepted)
	line("  finished", r.Finished)
	line("  failed", r.Failed)
	line("programs run", r.Executions)
	line("  repeated in flight, as declared", r.Repeated)
	line("  of them beside the first one", r.Twice)
	line("questions about unknown outcomes", r.Questions)
	line("  before the program had begun", r.NeverBegun)
	for _, name := range names() {
		line(name, len(r.Violations[name]))
		for i, text := range r.Violations[name] {
			if i == mostNamed {
				line("  …", "")
				break
			}
			line("  "+text, "")
		}
	}
	return w.Flush()
}
