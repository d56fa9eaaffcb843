// Package adapter implements the ports of package loop over the bus: it decodes deliveries to events, and publishes messages. It
// decides nothing and keeps no state of jobs.
package adapter
