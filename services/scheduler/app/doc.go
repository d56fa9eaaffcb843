// Package app is the door of the scheduler: it wires the rooms together and runs them until the process drains. A program
// that embeds the scheduler calls Run as main does.
package app
