// Package adapter adapts the bus to the interfaces of package loop and to the announcement of cards. It decides nothing and keeps
// no state of jobs.
package adapter
