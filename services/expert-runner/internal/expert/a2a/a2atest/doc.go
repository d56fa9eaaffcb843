// Package a2atest runs A2A agents for tests: real servers of the SDKs of spec 1.0 and 0.3 whose agents follow a script. It
// counts the requests to them.
//
// It is for tests only. An Agent owns its server and ends it with the test.
package a2atest
