package step

import (
	"context"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
	"github.com/jobgraph/jobgraph/examples/internal/rank"
	"github.com/jobgraph/jobgraph/examples/internal/report"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
	"github.com/jobgraph/jobgraph/examples/internal/task"
)

// Rank measures the union of all graphs that its predecessors have extracted.
func Rank(_ context.Context, t task.Task) (any, error) {
	analysis, err := analyse(t)
	if err != nil {
		return nil, err
	}
	return analysis, nil
}

// Report writes the report of a predecessor's analysis into the folder that input "out" names, by default into the
// workspace of its run.
func Report(_ context.Context, t task.Task) (any, error) {
	for analysis, err := range task.Outputs[rank.Analysis](t, "ranked") {
		if err != nil {
			return nil, err
		}
		return write(t, analysis)
	}
	return nil, task.Bad("no predecessor of %q hands over an analysis (an object with \"ranked\"): let it depend on the step that ranks", t.Subjob)
}

// Analyse ranks and reports in one step, for a plan with a single analysis step.
func Analyse(_ context.Context, t task.Task) (any, error) {
	analysis, err := analyse(t)
	if err != nil {
		return nil, err
	}
	return write(t, analysis)
}

func analyse(t task.Task) (rank.Analysis, error) {
	var graphs []graph.Graph
	size := 0
	for g, err := range task.Outputs[graph.Graph](t, "entities") {
		if err != nil {
			return rank.Analysis{}, err
		}
		graphs = append(graphs, g)
		size += len(g.Entities)
	}
	switch {
	case len(graphs) == 0:
		return rank.Analysis{}, task.Bad("no predecessor of %q hands over a graph (an object with \"entities\" and \"relations\"): let it depend on a step that extracts", t.Subjob)
	case size == 0:
		return rank.Analysis{}, task.Bad("the extracted graphs are empty: extract from more files, or give another folder")
	}
	return rank.Analyse(graphs...), nil
}

func write(t task.Task, analysis rank.Analysis) (any, error) {
	fallback := t.Workspace
	if fallback == "" {
		fallback = "."
	}
	dir, err := t.Folder("out", fallback)
	if err != nil {
		return nil, err
	}
	var surveyed *scan.Inventory
	for found, err := range task.Outputs[scan.Inventory](t, "chosen") {
		if err != nil {
			return nil, err
		}
		surveyed = &found
		break
	}
	return report.Write(dir, analysis, surveyed)
}
