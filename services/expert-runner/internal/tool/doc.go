// Package tool holds the tools that come with the runner: files of a workspace, and fetching over HTTP behind a guard. A
// tool takes JSON and gives text; what goes wrong is an error whose text is meant for the model.
//
// It never leaves the workspace, never reaches an address that the guard forbids, and bounds what it reads and writes. A Box
// belongs to one run.
package tool
