// Package joblog reads a job from its log: the fold, plans by reference, the text of a SubJob with its edits, results and
// files, cost, the calls that runs made, the request that forks a job, and the differences between two jobs.
//
// It is pure. The caller supplies the events, from a bus or a file, and a function that reads payloads (Payloads). It
// publishes nothing and decides nothing about a job; package graph does. A Log has one owner.
package joblog
