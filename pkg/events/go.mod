module github.com/jobgraph/jobgraph/pkg/events

go 1.26.0
