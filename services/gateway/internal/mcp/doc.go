// Package mcp offers the verbs to clients of the Model Context Protocol: as tools, resources, prompts and tasks, over standard
// input and output or streamable HTTP. It is made from the table of verbs and calls a Door, which checks each call like a route of
// the HTTP API.
//
// The package holds no state of jobs: tasks, waits and questions are in the log, so that each gateway can continue what another one
// began. Sessions of clients that speak revisions before 2026-07-28 end with their gateway. No other package of the gateway knows
// the SDK.
package mcp
