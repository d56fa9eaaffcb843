// Teller is an agent that speaks A2A 1.0: it counts the lines and the words of a text, and asks for the text if it got none.
//
// It is an expert of kind a2a; see examples/README.md. It serves its card and JSON-RPC with the standard library alone, to show
// how little an agent has to know; a real one is better built on an SDK.
package main
