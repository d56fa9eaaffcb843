// Package onbus gives a process its bus: what the settings of package host say, in the terms of package bus. It is the one
// place below the services that knows both.
//
// State: none of its own. A connection that it makes is closed by a cleanup of the process.
package onbus
