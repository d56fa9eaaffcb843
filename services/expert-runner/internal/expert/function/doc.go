// Package function runs experts that are Go functions: for programs that embed a runner, for tests and for measuring.
//
// A panic of a function is an EXECUTION_ERROR of its run, never the end of the runner.
package function
