// Command generate writes what is derived from code: JSON Schemas into pkg/events/schemas, and the pages states.md, events.md,
// errors.md and conformance.md and the schema of jobgraph.yaml into docs. `make gen` runs it; `make verify` fails when
// something differs.
package main
