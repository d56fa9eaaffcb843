// Package legacy speaks spec 0.3 of the A2A protocol over JSON-RPC, for agents that know no other. It has the calls that a run
// makes, with requests and answers in the types of spec 1.0, so that the expert handles both in one way.
//
// The SDK has such a transport as well, but that one links gRPC into every program. The tests compare this one with it. It has no
// state, no retries and no limits of its own: those come from the HTTP client that the caller passes.
package legacy
