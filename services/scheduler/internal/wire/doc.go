// Package wire fits the bus to the ports of package loop: it hands deliveries over as decoded events and messages on as
// publishes. It decides nothing and keeps no state of jobs.
package wire
