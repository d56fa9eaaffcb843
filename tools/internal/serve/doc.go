// Package serve offers the tools over MCP. Each tool has one file with its arguments; what it does is in a package of its own.
package serve
