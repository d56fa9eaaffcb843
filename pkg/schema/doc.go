// Package schema validates values against JSON Schemas and reports every place that does not fit. References to other
// documents are rejected: a schema must be self-contained.
package schema
