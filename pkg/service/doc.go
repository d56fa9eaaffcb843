// Package service is the shell that all services share. It opens the bus of a process and adapts it to the ports of a service's
// loop: journals, the log, blobs, and the deliveries of a queue. Secrets of the process are removed from everything that leaves a
// service through these ports. A service adds only what is specific to it.
package service
