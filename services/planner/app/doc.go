// Package app is the entry point of the planner: Run connects the parts and works until the process drains. Check, Template
// and Diff are pure functions for tools that read plans without running them. Programs that embed the planner and the
// planner's own main use the same Run.
package app
