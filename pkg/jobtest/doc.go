// Package jobtest runs a job in memory, for tests of plans and experts: the real core over a log in a slice, with scripted
// experts and virtual time. There is no server, goroutine or clock, so the same script gives the same events, byte for
// byte, and hours of back-off pass at once.
//
// A Script is a value; each Run has its own state. A Schedule is a recurring script: days of runs pass at once.
package jobtest
