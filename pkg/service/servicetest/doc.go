// Package servicetest runs services inside a test: a real server with the topology, in virtual time; services over separate
// connections; and helpers that publish and read messages. It knows no service; each test supplies the function that runs one.
package servicetest
