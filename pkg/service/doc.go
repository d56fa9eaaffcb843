// Package service is the shell that all services share. It opens the bus of a process, and fits the bus to the ports of a
// service's loop: journals, the log, blobs, and the deliveries of a queue. What leaves a service by these ports is freed of the
// secrets of its process. A service adds only what it alone needs.
package service
