// Package tracetest is a collector for tests of traces: an HTTP server that takes what real exporters send, in the protocol of
// OpenTelemetry, and keeps it. It never answers anything but success unless it is told to.
package tracetest
