// Package session keeps sessions: which jobs belong to one, whose it is, what it is called and how it stands. Intake
// enters a job before it is admitted, so that every known job is found in its session; the loop notes what becomes of
// the job before it saves the job's state, so that nothing is acknowledged that the session does not know.
//
// A record is a view of the log, except for a title given by a person; every write may be repeated. The package never touches
// a job.
package session
