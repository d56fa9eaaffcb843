// Package picture draws a small graph as SVG: the entities repel each other, relations pull them together, and labels are moved
// apart until none covers another. It computes with integers only, so that the same graph gives the same bytes on every machine.
package picture
