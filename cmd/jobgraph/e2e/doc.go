// Package e2e holds tests of the programs as they are deployed: a real nats-server, the services as processes of their own and
// the command line, on a store of the test, killed with -9 on the way. They need Linux and the build tag "e2e". It exports
// nothing.
package e2e
