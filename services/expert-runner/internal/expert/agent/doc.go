// Package agent runs experts that are models with tools. The conversation is the pure machine of package conversation. This
// package calls the model and the tools, always through the journal, so that nothing finished is paid for or done twice.
//
// It decides nothing about the conversation and keeps no state between runs. The workspace belongs to the run and is
// rebuilt from the journal when another runner takes over.
package agent
