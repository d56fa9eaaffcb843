// Package extract finds entities and the relations between them in the files of an inventory: packages, types, functions, imports
// and calls in program text; headings, links, names and terms in prose.
//
// Go is read with the standard parser; other languages by the lines that define and import, which is a good guess and labelled so
// in the output. A file that does not parse yields what could be read of it and a Fault. Nothing is executed, and nothing outside
// the given file system is opened.
package extract
