// Package conversation is the pure core of an agent: a conversation with a model as a fold. Facts go in (the model answered, a tool
// answered, the model failed), commands come out (ask the model, call tools, end). The same facts give the same commands, so an
// interrupted conversation continues from the facts in a journal.
//
// It does no I/O, reads no clock, and knows providers and tools only by name; Rules bound it: every conversation ends. A Machine
// owns its history and belongs to one goroutine.
package conversation
