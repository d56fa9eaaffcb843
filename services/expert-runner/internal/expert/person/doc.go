// Package person runs experts that are people: the work becomes a request for input, and the answer is the result.
//
// A run that waits is parked: it holds no goroutine and no message. What a person rejects is an EXECUTION_ERROR with the
// reason as its lesson; what does not fit the form is asked for again, with everything that is wrong.
package person
