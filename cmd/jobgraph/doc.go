// Command jobgraph is all of Jobgraph in one program: the command line and, with `up`, the bus, the planner, the scheduler
// and the expert-runner in one process.
package main
