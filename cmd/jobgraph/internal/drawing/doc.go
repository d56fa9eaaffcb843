// Package drawing draws a JobGraph: for a terminal, as Mermaid, Graphviz DOT or SVG. The layout is ours: layers by
// longest path, crossings reduced by medians. The same graph gives the same picture, byte for byte. It reads and writes
// nothing but what it is given.
package drawing
