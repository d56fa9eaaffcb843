// Package joblog reads a job out of its log: the fold, plans that went by reference, the text of a SubJob with its edits, results and
// files, cost, what runs have asked of models and tools, the request that forks a job, and what two jobs differ in.
//
// It is pure. Whoever uses it brings the events, from a bus or a file, and a function that reads payloads (Payloads). It states no fact
// and decides nothing about a job: package graph does. A Log has one owner.
package joblog
