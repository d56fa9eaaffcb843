// Package e2e tests the programs as they are deployed: a real nats-server, the services as separate processes and the
// command line, on a store of the test, with processes killed by -9. The tests need Linux and the build tag "e2e". The
// package exports nothing.
package e2e
