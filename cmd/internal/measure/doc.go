// Command measure prints the structure of this repository in numbers, beside their targets: method sets, the state behind one step
// of the scheduler, lines, the share of helpers in tests, words, packages without a row in ARCHITECTURE.md and sizes of programs.
//
//	go run ./cmd/internal/measure [-bin DIR] ROOT
//
// Type information comes from golang.org/x/tools/go/packages, everything else from the sources. It changes nothing and never fails
// for what it finds: limits that must hold are rules in cmd/internal/lint.
package main
