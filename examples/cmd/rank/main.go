package main

import (
	"flag"

	"github.com/jobgraph/jobgraph/examples/internal/step"
	"github.com/jobgraph/jobgraph/examples/internal/task"
)

func main() {
	report := flag.Bool("report", false, "write report, picture and data too")
	flag.Parse()
	if *report {
		task.Main(step.Analyse)
	}
	task.Main(step.Rank)
}
