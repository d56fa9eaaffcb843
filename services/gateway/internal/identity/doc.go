// Package identity finds out who sends an HTTP request: it knows the tokens with their users and roles, and checks where a request
// comes from. A page of another site, or a foreign DNS name bound to this address, gets nothing.
//
// Tokens are kept as digests. The file of tokens is read again when it has changed; a file with faults changes nothing.
package identity
