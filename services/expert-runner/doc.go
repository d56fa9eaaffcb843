// Expert-runner executes SubJobs: it takes work from its pools, runs experts, and reports. It decides nothing about jobs,
// and keeps nothing between runs: what it has to remember is in the journals on the bus.
package main
