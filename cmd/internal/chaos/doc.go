// Package chaos runs Jobgraph's own programs under random faults and compares the results of the jobs with what it
// promises.
//
// A campaign starts servers, schedulers, planners and runners as processes on the loopback interface in a folder of its
// own. It keeps jobs of every shape running, and meanwhile kills, suspends and restarts processes, also several at once.
// The experts' programs record each execution in a file outside of the log. At the end every job must have ended, and log,
// journals, saved states and that file must agree. Instead of faults, a rolling campaign replaces the services of one
// release by those of another, through every mix and back.
package chaos
