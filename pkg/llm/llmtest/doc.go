// Package llmtest is a scripted model: a server that speaks OpenAI's chat and Responses APIs, Anthropic's Messages and Gemini's
// generateContent, streamed and whole, and answers by a script or a Responder, including faults: delays, statuses, cut streams, bad JSON,
// misplaced errors.
//
// It serves tests, over TCP or in process (Server.Do needs no network, so it works in virtual time), and `--model fake`, where Planner
// answers any planning prompt without a script. It makes no calls. A Server owns the record of its requests; it is safe for concurrent use.
package llmtest
