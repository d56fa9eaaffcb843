// Package a2atest plays agents that speak A2A, for tests: real servers of the SDKs of spec 1.0 and 0.3, whose agents follow a
// script. What they were sent is counted.
//
// It is never part of a program. An Agent owns its server and ends it with the test.
package a2atest
