// Package command runs experts that are programs: argv, one JSON object on standard input, the result on standard output.
//
// A program runs in its own process group, in a fresh directory, with a clean environment. When it ends, no process of its
// group remains. Its output is limited. The package never uses the bus and keeps no state between runs; the directory
// belongs to the run.
package command
