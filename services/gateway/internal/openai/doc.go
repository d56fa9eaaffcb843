// Package openai translates between OpenAI's API and Jobgraph: a conversation that each request sends as a whole becomes one
// message to a session, and what a job says becomes the text of an answer.
//
// It is pure: it reads no bus and keeps nothing. Package route submits, follows and stores.
package openai
