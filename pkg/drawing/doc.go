// Package drawing draws graphs: for a terminal, as Mermaid, Graphviz DOT or SVG. The layout uses layers by longest path,
// with crossings reduced by medians. The same graph gives the same picture, byte for byte. The package does no I/O except
// to the given writer.
package drawing
