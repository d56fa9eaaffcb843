// Package command runs experts that are programs: argv, one JSON object on standard input, the result on standard output.
//
// A program runs in a process group of its own, in a fresh directory, in a clean environment. When it ends, or is told to,
// nothing of its group is left. What it prints is bounded. The package never talks to the bus and keeps no state between
// runs; a run's directory belongs to the run.
package command
