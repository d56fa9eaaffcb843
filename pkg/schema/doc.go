// Package schema says whether a value fits a JSON Schema, and every place where it does not. References to other documents
// are refused: a schema stands for itself.
package schema
