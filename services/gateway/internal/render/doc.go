// Package render makes HTML for the console from what models, runs and people wrote: Markdown, code, JSON and differences. Its
// input is hostile; its output has no scripts, styles, event handlers, images or ids, and its links leave the page.
//
// It reads nothing but its arguments, and bounds what it takes.
package render
