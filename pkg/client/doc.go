// Package client is the Go client of Jobgraph: submit a job, watch it, answer its questions, stop it, export it to a file.
//
// It calls the scheduler by request-reply and reads log, state and blobs from the bus directly. It reads jobs from their
// logs with package joblog and never decides anything about a job. A Client has no state besides the connection and is safe
// for concurrent use.
package client
