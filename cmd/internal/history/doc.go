// Package history folds a job's log, from the bus or from an export file, and finds the texts and results that the state
// refers to. It changes nothing anywhere.
package history
