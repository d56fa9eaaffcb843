// Package egress says which addresses a program may connect to on behalf of others: naming an address must not give access to what
// only the program can reach. It opens no connection and keeps no state.
package egress
