// Package item is the form of what people see of a job or a session while it happens: messages, questions, answers, text,
// thinking, tool calls, results. Conversations and live output consist of items. It is part of the contract: fields are only
// added.
//
// It decides nothing and owns no state.
package item
