// Package access says who may do what on the bus: one table of subjects, from which the configuration of a NATS server is
// generated, with accounts, keys and permissions.
//
// The services of the engine share an account with the streams. Everyone else, runners and people, has a separate account that
// imports what the table lists. A list of permissions alone would not be enough: the server sends its answers wherever a request
// says, without checking the permissions of the requester, so within the account of the streams the right to read is also a right
// to write. An answer to another account goes nowhere else.
//
// The package has no state and does no I/O.
package access
