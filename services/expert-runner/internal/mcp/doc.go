// Package mcp lets agents use the tools of MCP servers: programs on their standard input and output, and services behind streamable
// HTTP, legacy server-sent events or a WebSocket. No other package knows the SDK.
//
// A Pool owns every server: each is started when it is first used, shared by all runs, restarted with growing pauses when it has
// died, and ended with the pool. A server is not trusted: its output is bounded in size and rate, its calls in time; its program has
// a clean environment and a separate process group, which is killed as a whole. Tools are known by a digest of their descriptions:
// one that has changed since a run began to use it is not called.
//
// The package journals nothing and judges no call; the caller of the tools does.
package mcp
