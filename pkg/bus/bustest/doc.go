// Package bustest starts a real NATS server inside a test, with JetStream on a folder of the test. It exists for tests only
// and keeps no state beyond the servers it started, each of which ends with its test.
package bustest
