module github.com/jobgraph/jobgraph/examples

go 1.26.0
