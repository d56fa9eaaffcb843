// Package endtoend tests the whole system: every service over a real server, in virtual time. It exports nothing.
//
// The crash sweep (build tag "sweep") kills each service at every boundary between two effects and expects the same result.
// It repeats this with each safety switched off on the wire, and must fail then.
package endtoend
