// Package agent runs experts that are models with tools. The conversation is the pure machine of package conversation; this package
// asks the model and calls the tools, each through the journal, so that nothing that has finished is paid for or done twice.
//
// It decides nothing about the conversation, and keeps no state between runs; the workspace belongs to the run, and is made
// again from the journal when another runner goes on.
package agent
