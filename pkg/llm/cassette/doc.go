// Package cassette records exchanges with a model in a file, one JSON object per line, and replays them without a network:
// the same request gets the same answer, byte for byte.
//
// Keys are never written: of a request only method, path and body are kept, of an answer only the relevant headers, and
// both are searched for anything that looks like a key. A Recorder owns its writer, a Player the entries that it has read;
// both are safe for concurrent use.
package cassette
