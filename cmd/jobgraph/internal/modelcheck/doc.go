// Package modelcheck tries what agents and planners need of a model: text, a stream, a call of a tool, an answer in a given form. It
// makes real calls, which cost money, and decides nothing about jobs.
package modelcheck
