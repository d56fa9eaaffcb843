// Package artifact says how files that runs have made are named across a job, by an address that texts can cite, and what text they
// begin with. It never reads a file by itself.
package artifact
