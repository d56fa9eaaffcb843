// Package adapter implements the ports of package loop over the bus: deliveries become decoded events, and messages are published.
// It decides nothing and keeps no state of jobs.
package adapter
