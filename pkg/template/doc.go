// Package template executes the language of text/template on plain data: structs, maps, lists and basic values. It leaves out
// methods of values, calls of functions in values and channels; Computed replaces what a method would return.
//
// The standard library's package finds methods by names that exist only at run time. The linker therefore keeps every exported
// method of every type in a program that uses it: 4 MB in jobgraph. The syntax is parsed by that library's own parser,
// text/template/parse.
package template
