// Package graph holds what the extraction finds and the analysis reads: entities and the relations between them, and the operations
// that keep such a graph small and ordered. It is plain data: no I/O, no clock, no randomness.
package graph
