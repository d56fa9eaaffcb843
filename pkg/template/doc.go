// Package template executes the language of text/template on plain data: structs, maps, lists and basic values. Methods of values, calls of
// functions in values and channels are the parts that it does not have; Computed is there for what a method would return.
//
// The package of the standard library finds methods by names that only exist at run time. The linker therefore keeps every exported method of
// every type in a program that uses it, which are 4 MB of jobgraph. The syntax is read by that library's own parser, text/template/parse.
package template
