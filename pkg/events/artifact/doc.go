// Package artifact defines how the files of runs are addressed across a job, so that texts can cite them, and extracts the
// text at the beginning of a file. It never reads a file itself.
package artifact
