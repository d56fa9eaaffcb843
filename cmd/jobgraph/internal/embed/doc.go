// Package embed runs a NATS server with JetStream inside this process: the bus of `up`, and of `run` if there is no other.
// It knows nothing about jobs. A Server owns its folder; a lock keeps other processes out.
package embed
