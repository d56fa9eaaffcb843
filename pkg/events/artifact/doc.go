// Package artifact says how files that runs have made are named across a job: by an address that texts can cite. It knows names,
// never bytes.
package artifact
