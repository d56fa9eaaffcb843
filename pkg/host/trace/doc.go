// Package trace tells what a service does as spans, to whatever collector the OTEL_* variables name. It is the only place that
// knows OpenTelemetry, and the only one that reads those variables.
//
// Without an endpoint in the environment there is no tracer: Open gives nil, and who works asks no more than whether it is nil.
// Spans belong to the traceparent that travels with requests, work and events, so that one job is one trace whatever processes
// it goes through. A collector that is away, slow or wrong stops and delays nothing: spans are dropped then.
//
// State: one exporter with a bounded queue for each service of a process, ended by a cleanup of the process.
package trace
