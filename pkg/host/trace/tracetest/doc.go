// Package tracetest is a collector for tests of tracing: an HTTP server that receives and stores what OpenTelemetry
// exporters send. It answers with success unless told otherwise.
package tracetest
