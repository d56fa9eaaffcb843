// Package function runs experts that are Go functions: for programs that embed a runner, for tests and for benchmarks.
//
// A panic in a function is an EXECUTION_ERROR of its run and does not end the runner.
package function
