// Package semaphore keeps the slots of keys that jobs share: which runs have one, and which job is next when one becomes free. Each
// key has a record, readable JSON in the bucket of sessions, which is changed by compare-and-set before work is published. So a limit
// holds across schedulers and runners, even if all of them are restarted. A slot belongs to a run of a SubJob, not to its worker.
//
// The package never touches a job and reads no clock. Whichever scheduler owns a job says which of its runs are active.
package semaphore
