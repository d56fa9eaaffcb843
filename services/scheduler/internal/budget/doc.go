// Package budget stores what sessions and days have spent, and tells what is left of their budgets. It is written before the state
// of a job is saved and read before a job is admitted; it exists only if a budget is configured.
//
// An account holds what each job has spent, not a sum: an entry may be written any number of times, by any scheduler, and a crash
// counts nothing twice. The package never touches a job, and decides nothing about one that was admitted: what is left becomes the
// job's own limit, which the core enforces.
package budget
