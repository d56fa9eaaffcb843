// Package llm calls models: one call in, one verified answer or one classified error out. It is the only package that
// imports a model SDK.
//
// An Engine holds the configured models by name. For each call it respects the model's limits, chooses the dialect (chat or
// Responses), remembers what the model rejects, retries errors that may pass, and falls back to the next model where that
// is allowed. An answer counts only if the provider said why it ended.
//
// The package decides nothing about jobs, parses no answer, stores nothing, reads no environment and writes no log. Keys
// leave it only in the header of a request. State: an Engine owns its models' limits and memory. It is safe for concurrent
// use; Set changes the models without disturbing running calls.
package llm
