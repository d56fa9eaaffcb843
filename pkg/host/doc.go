// Package host is everything a service process needs that is not its work: settings, configuration files, log,
// metrics, health, the HTTP endpoint for operators, signals, draining and an orderly end.
//
// It is the only package that reads the environment, and even here the environment, the arguments, the streams and
// the signals arrive in a System, so that a test can be a whole process. It never talks to NATS, to a model or to
// the core, and it knows no service by more than its name.
//
// State: a Process owns its contexts, its cleanups and its HTTP server; Flags belong to the goroutine that parses
// them; Health and Metrics may be used by any goroutine.
package host
