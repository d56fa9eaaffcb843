// Package bench measures Jobgraph beside a hand-written floor (package floor): the same graphs of SubJobs that do nothing, in
// the same process conditions and the same run, alternating, each trial in fresh processes on a fresh store.
//
// A trial is one child process (`bench trial`). In embedded mode it holds the server, the parts and the driver; in services
// mode the server and each part are processes of their own (`bench part`), which speak TCP. A child ends when its standard
// input does, so that none outlives the one that started it. The package decides nothing and keeps nothing: a store is
// removed with its trial.
package bench
