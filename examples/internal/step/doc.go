// Package step holds the work of each program in this folder: survey, extract, rank and report. A step finds what it needs among the
// results of its predecessors by shape, never by the name of a SubJob, so that one set of programs serves every plan.
package step
