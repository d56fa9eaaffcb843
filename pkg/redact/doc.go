// Package redact removes secrets from what leaves a process: facts, journals, payloads, live items, logs and model answers.
// A Set holds the secrets from configuration and settings, a Redactor finds them, and a Stream finds them in text that
// arrives in pieces.
//
// A secret is found as it is, escaped as in JSON, percent-encoded as in URLs, in hexadecimal, and in base64 at any
// alignment, so that it is also found inside something that was encoded as a whole. It is not found in compressed or
// encrypted data.
//
// The package reads no environment, file or configuration: the caller supplies the secrets. A value that looks like
// ordinary words does not count as a secret, see Telling. The same secrets and the same text give the same bytes.
//
// State: a Set belongs to its process and only grows, since a program that was started with a former secret may still
// repeat it. A Redactor is immutable. A Stream belongs to one goroutine.
package redact
