// Package owner names those who claim runs in the journal.
package owner
