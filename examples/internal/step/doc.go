// Package step is what each program of this folder does with its task: survey, extract, rank and report. A step finds
// what it needs among the results of its predecessors by shape, never by the name of a SubJob, so that one set of
// programs serves every plan.
package step
