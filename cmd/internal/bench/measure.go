package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Measure is one number of a workload without a baseline.
type Measure struct {
	// Name is what was measured, Unit its unit.
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Value is the result, in Unit.
	Value float64 `json:"value"`
	// Limit is the maximum and Least the minimum; nil for none. Met is true if both hold.
	Limit *float64 `json:"limit,omitempty"`
	Least *float64 `json:"least,omitempty"`
	Met   bool     `json:"met"`
}

// value returns a measure without limits.
func value(name, unit string, v float64) Measure {
	return Measure{Name: name, Unit: unit, Value: v, Met: true}
}

// limited returns a measure with a maximum.
func limited(name, unit string, v, limit float64) Measure {
	return Measure{Name: name, Unit: unit, Value: v, Limit: &limit, Met: v <= limit}
}

// atLeast returns a measure with a minimum.
func atLeast(name, unit string, v, least float64) Measure {
	return Measure{Name: name, Unit: unit, Value: v, Least: &least, Met: v >= least}
}

// Report is the result of a workload without a baseline.
type Report struct {
	// Workload is the name of the workload; Size is the size at which it ran.
	Workload string `json:"workload"`
	Size     int    `json:"size"`
	Conditions
	// Measures are the results, in the order of the table.
	Measures []Measure `json:"measures"`
}

// met reports whether all limits hold.
func (r Report) met() bool {
	for _, m := range r.Measures {
		if !m.Met {
			return false
		}
	}
	return true
}

// print writes a report as a table for people.
func (r Report) print(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "\n%s %d, %s, sync %s\n", r.Workload, r.Size, r.Mode, r.Sync); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, m := range r.Measures {
		goal := ""
		verdict := map[bool]string{true: "met", false: "MISSED"}[m.Met]
		switch {
		case m.Limit != nil:
			goal = fmt.Sprintf("at most %.4g: %s", *m.Limit, verdict)
		case m.Least != nil:
			goal = fmt.Sprintf("at least %.4g: %s", *m.Least, verdict)
		}
		if _, err := fmt.Fprintf(t, "  %s\t%.4g %s\t%s\n", m.Name, m.Value, m.Unit, goal); err != nil {
			return err
		}
	}
	return t.Flush()
}
