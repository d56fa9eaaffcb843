// Package legacy speaks spec 0.3 of the A2A protocol over JSON-RPC, to agents that know no other. It has the calls that a run
// makes, with requests and answers in the types of spec 1.0, so that the expert has one way to handle both.
//
// The SDK has such a transport, too, but that one links gRPC into every program. The tests hold this one against it. It has no state,
// no retries and no limits of its own: those are the caller's, in the HTTP client that it passes.
package legacy
