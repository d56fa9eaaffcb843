// Package redact takes secrets out of what leaves a process: facts, journals, payloads, live items, logs and model answers. A Set
// holds the secrets that configuration and settings have brought, a Redactor finds them, and a Stream finds them in text that comes
// in pieces.
//
// A secret is found as it is, escaped as in JSON, percent-encoded as in URLs, in hexadecimal, and in base64 at any alignment, so that
// it is also found in the middle of something that was encoded as a whole. It is not found in what is compressed or encrypted.
//
// The package reads no environment, no file and no configuration: what counts as configured is the caller's to say. What could not be
// told apart from ordinary words does not count as a secret, see Telling. The same secrets and the same text give the same bytes.
//
// State: a Set belongs to its process and only grows, since a program that was started with a former secret may still repeat it. A
// Redactor never changes. A Stream belongs to one goroutine.
package redact
