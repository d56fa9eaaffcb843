// Package watch shows a job while it runs: on a terminal as a tree that is redrawn in place, elsewhere as one line per
// transition, for programs as JSON lines. It folds the given events and makes no requests.
package watch
