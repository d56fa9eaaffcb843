// Package person runs experts that are people: the work becomes a request for input, and the answer is the result.
//
// A waiting run is parked: it holds no goroutine and no message. A rejection is an EXECUTION_ERROR with the reason as its
// lesson. An answer that does not fit the form is requested again, with all its faults.
package person
