// Package llmtest is a scripted model: a server that speaks the chat and Responses APIs, streamed and whole, and says what a
// script or a Responder tells it, faults included: delays, statuses, cut streams, bad JSON, errors where none belong.
//
// It serves tests, over TCP or in process (Server.Do needs no network, so it works in virtual time), and `--model fake`,
// where Planner answers any planning prompt without a script. It never calls anybody. A Server owns the record of what it
// was asked; it is safe for concurrent use.
package llmtest
