// Package session keeps sessions: the jobs of each, its owner, its title and its state. Intake enters a job before it is admitted,
// so that every known job is found in its session; the loop records each change of a job before it saves the job's state, so that
// nothing is acknowledged that the session does not know.
//
// A record is a view of the log, except for a title given by a person; every write may be repeated. The package never touches a
// job.
package session
