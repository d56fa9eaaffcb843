// Package graph holds what the extraction finds and the analysis reads: entities and the relations between them, and
// the operations that keep such a graph small and in one order. It is plain data: no I/O, no clock, no chance.
package graph
