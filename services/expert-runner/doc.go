// Expert-runner executes SubJobs: it takes work from its pools, runs experts, and reports. It decides nothing about jobs, and
// keeps no state between runs: the journals on the bus have it.
package main
