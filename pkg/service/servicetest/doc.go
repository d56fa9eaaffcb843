// Package servicetest runs services inside a test: a real server with the topology, in virtual time, the services that a test
// starts over connections of their own, and what a test says to them and reads of them on the bus. It knows no service; each
// test brings the function that runs its own.
package servicetest
