// Command report writes a Markdown report, an SVG picture and the data of an analysis into a folder. Task on standard
// input, report on standard output.
package main
