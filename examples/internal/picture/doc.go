// Package picture draws a small graph as SVG: the entities push each other away, relations pull them together, and
// labels are moved apart until none covers another. It counts in whole numbers only, so that the same graph gives the
// same bytes on every machine.
package picture
