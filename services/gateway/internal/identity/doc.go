// Package identity says who asks over HTTP: it knows the tokens with their users and roles, and judges where a request comes from. A
// page of another site, and a name that was bound to this address by someone else's DNS, get nothing.
//
// Tokens are kept as digests. The file of tokens is read again when it has changed; one with faults changes nothing.
package identity
