// Package tool has the built-in tools of the runner: files of a workspace, and fetching over HTTP behind a guard, among others. A
// tool takes JSON and returns text; an error has a text for the model.
//
// It never leaves the workspace, never reaches an address that the guard forbids, and bounds what it reads and writes. A Box
// belongs to one run.
package tool
