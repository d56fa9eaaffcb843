// Package bustest starts a real NATS server inside a test, with JetStream in a folder of the test. It is for tests only.
// Its only state is the servers that it started; each ends with its test.
package bustest
