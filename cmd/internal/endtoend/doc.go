// Package endtoend holds tests of the whole system: every service over a real server, in virtual time. It exports nothing.
//
// The crash sweep (build tag "sweep") kills each service at every boundary between two effects and expects the same end.
// It plays the same with each safety switched off on the wire, and has to fail then.
package endtoend
