// Package events is the contract of Jobgraph: the facts that make up a job, their subjects, their ids, and their encoding.
// It imports only the standard library, so that any Go program can use the bus without an SDK.
//
// The package never opens a connection, reads a clock or keeps state. Writing is strict (CloudEvents 1.0 binary mode);
// reading is lenient (binary mode, structured mode, bare JSON; unknown fields are ignored). Wire forms only grow: the
// golden files in testdata are never edited.
package events
