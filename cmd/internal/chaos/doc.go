// Package chaos runs Jobgraph's own programs under random faults and holds what became of the jobs against what it promises.
//
// A campaign starts servers, schedulers, planners and runners as processes on the loopback and a folder of its own, keeps jobs of
// every shape in motion, and meanwhile kills, stops and restarts processes, also several at once. The programs that experts run write down
// each execution in a file, outside of the log. In the end every job has to be over, and log, journals, saved states and that file
// have to agree. In place of faults, a rolling campaign replaces the services of one release by those of another, through every mix and back.
package chaos
