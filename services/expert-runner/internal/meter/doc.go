// Package meter counts what the runner does, under the names that operators rely on. It never labels by job.
package meter
