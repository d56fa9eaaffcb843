// Package bases names the bases of knowledge that a job may read, and decides which ones: global ones by name, that of its user, and
// those of its sessions.
//
// It never reads a document and has no state.
package bases
