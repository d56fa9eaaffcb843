// Package host provides everything that a service process needs besides its work: settings, configuration files, log,
// metrics, health, the HTTP endpoint for operators, signals, draining and an orderly end.
//
// It is the only package that reads the environment. Even here, environment, arguments, streams and signals arrive in a
// System, so that a test can simulate a whole process. It never uses NATS, a model or the core, and of services it knows
// only the names.
//
// State: a Process owns its contexts, its cleanups and its HTTP server; Flags belong to the goroutine that parses them;
// Health and Metrics are safe for concurrent use.
package host
