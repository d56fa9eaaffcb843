// Package events is the contract of Jobgraph: every fact a job can be made of, the subjects they travel on, the ids they
// bear, and the bytes they are written as. It imports the standard library alone, so that any Go program can speak to the
// bus without pulling in an SDK.
//
// The package never opens a connection, reads a clock or keeps state. Writing is strict (CloudEvents 1.0 binary mode);
// reading is lenient (binary mode, structured mode, bare JSON; unknown fields are tolerated). Wire forms only grow: the
// golden files in testdata are never edited.
package events
