// Package client speaks to Jobgraph from Go: submit a job, watch it, answer its questions, stop it, take it along as a file.
//
// It asks the scheduler over request-reply and reads the log, the state and the blobs from the bus by itself. It
// reads jobs out of their logs with package joblog and never decides anything about a job. A Client holds no state of its own beside the
// connection, and may be used by any goroutine.
package client
