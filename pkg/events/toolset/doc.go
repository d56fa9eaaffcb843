// Package toolset has what a request changes about the tools of the agents of its job, in our form and in that of predecessor systems.
//
// It imports only the standard library and keeps no state. Whether a change is allowed is up to the runner.
package toolset
