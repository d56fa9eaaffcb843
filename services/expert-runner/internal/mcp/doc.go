// Package mcp lets agents use the tools of MCP servers: programs that are spoken to over their standard input and output, and
// services behind streamable HTTP, legacy server-sent events or a WebSocket. No other package knows the SDK.
//
// A Pool owns every server: each is started when it is first used, shared by all runs, started again with a growing pause when
// it has died, and ended with the pool. A server is not trusted: what it says is bounded in size and in rate, its calls in time,
// its program has a clean environment and a process group of its own, of which nothing is left. Tools are known by a digest of
// what they say of themselves: one that has changed since a run began to use it is not called.
//
// The package does not journal and judges no call; that is for the caller of the tools.
package mcp
