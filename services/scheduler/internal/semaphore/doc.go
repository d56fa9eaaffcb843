// Package semaphore keeps the slots of keys that jobs share: which runs have one, and which job is next when one becomes free. A
// key has a record, readable JSON beside the sessions, changed by compare-and-set before work is published; so it holds across
// schedulers and runners, and neither has to be alive for it. A slot belongs to a run of a SubJob, not to its worker.
//
// The package never touches a job and reads no clock. The owner of a record is the key; the owner of a job says which of its runs
// are active.
package semaphore
