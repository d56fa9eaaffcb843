// Package serve offers the tools over MCP. Each tool has one file with its arguments; its work is done by a separate package.
package serve
