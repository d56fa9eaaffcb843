// Package cassette records the exchanges with a model in a file, one JSON object a line, and plays them back without a
// network: the same request gets the same answer, byte for byte.
//
// Keys are never written: of a request only method, path and body are kept, of an answer only the headers that matter, and
// both are searched for what looks like a key. A Recorder owns its writer, a Player what it has read; both are safe for
// concurrent use.
package cassette
