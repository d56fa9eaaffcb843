// Package embed runs a NATS server with JetStream inside this process: the bus of `up`, and of `run` when no other is there.
// It knows nothing of jobs. A Server owns its folder, which a lock keeps other processes out of.
package embed
