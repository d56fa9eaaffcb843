// Package app is the door of the planner: Run wires the rooms together and works until the process drains; Check, Template
// and Diff are the pure parts for tools that look at plans without running them. Programs that embed the planner and the
// planner's own main use the same Run.
package app
