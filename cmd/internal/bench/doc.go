// Package bench compares Jobgraph with a hand-written baseline (package baseline): the same graphs of SubJobs that do
// nothing, under the same conditions in the same run, alternately, each trial in fresh processes on a fresh store.
//
// A trial is one child process (`bench trial`). In embedded mode it contains the server, the parts and the driver; in
// services mode the server and each part are separate processes (`bench part`) connected over TCP. A child ends when its
// standard input does, so that none outlives its parent. The package keeps nothing: a store is removed with its trial.
package bench
