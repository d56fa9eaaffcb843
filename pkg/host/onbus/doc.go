// Package onbus opens the bus of a process: it converts the settings of package host to the options of package bus. It is
// the only package below the services that knows both.
//
// It has no state. A cleanup of the process closes a connection that it opened.
package onbus
