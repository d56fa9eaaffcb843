// Package egress says which addresses a program may reach for others: those who name the address may not thereby reach what only the
// program can reach. It opens no connection and keeps no state.
package egress
