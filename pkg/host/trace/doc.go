// Package trace exports what a service does as spans to the collector that the OTEL_* variables name. It is the only
// package that uses OpenTelemetry, and the only one that reads those variables.
//
// Without an endpoint in the environment there is no tracer: Open returns nil, and callers only check for nil. Spans belong
// to the traceparent that travels with requests, work and events, so that one job is one trace across all processes. A
// collector that is unreachable, slow or faulty delays nothing: spans are dropped then.
//
// State: one exporter with a bounded queue per service of a process, ended by a cleanup of the process.
package trace
