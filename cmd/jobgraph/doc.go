// Command jobgraph is the whole of Jobgraph in one program: the command line for people and scripts, and with `up` the bus,
// the planner, the scheduler and the expert-runner in one process.
package main
