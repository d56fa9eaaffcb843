// Package llm speaks to models: one call in, one believed answer or one classed error out, whatever the provider does on
// the way. It is the only package that knows a model's SDK.
//
// An Engine holds the configured models by name. For each call it keeps the model's limits, chooses the dialect (chat or
// Responses), finds out once what the model refuses and remembers it, retries what is worth retrying, and falls through to
// the next model of the chain where that is allowed. An answer counts only when the provider said why it ended.
//
// The package decides nothing about jobs, parses no answer, stores nothing, reads no environment and writes no log. Keys
// never leave it but in the header of a request. State: an Engine owns its models' limits and memory; it is safe for
// concurrent use, and Set changes the models under running calls without disturbing them.
package llm
