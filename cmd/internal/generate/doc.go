// Command generate writes what is derived from code: JSON Schemas into pkg/events/schemas, and the pages states.md, events.md,
// errors.md, conformance.md and verbs.md and the schema of jobgraph.yaml into docs. It also copies the Python worker into the
// templates of `jobgraph new`. `make gen` runs it; `make verify` fails when something differs.
package main
