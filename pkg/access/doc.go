// Package access says who may do what on the bus: one table of subjects, from which the configuration of a NATS server is
// generated, with accounts, keys and permissions.
//
// The services of the engine share an account with the streams. Everyone else, runners and people, has an account of their own
// that imports what the table lists. That is more than a list of permissions: the server writes its answers wherever a request
// says, whatever the permissions of the one who asks, so within the account of the streams the right to read is also a right to
// write. An answer to another account goes nowhere else.
//
// The package has no state and does no I/O.
package access
