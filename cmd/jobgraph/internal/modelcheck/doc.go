// Package modelcheck tries out what agents and planners need from a model: text, a stream, a tool call, an answer in a given form.
// It makes real calls, which cost money, and decides nothing about jobs.
package modelcheck
