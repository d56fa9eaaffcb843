// Package app is the entry point of the scheduler: it joins the packages and runs them until the process drains. A program that
// embeds the scheduler calls Run like main does.
package app
