// Package lint holds the rules of this repository as code: who may import whom, what the pure core may
// touch, how large a package may grow, and what no file may contain.
//
// Each rule is a function from a loaded tree to findings, so that a rule is itself tested on sources that
// break it. The tests of this package run every rule over the repository; cmd/internal/measure counts with
// them. It owns no state and changes nothing on disk.
//
// A rule with exceptions keeps them in a table beside it, each with its reason.
package lint
