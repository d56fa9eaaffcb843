package main

import (
	"github.com/jobgraph/jobgraph/examples/internal/step"
	"github.com/jobgraph/jobgraph/examples/internal/task"
)

func main() { task.Main(step.Survey) }
