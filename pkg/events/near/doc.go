// Package near says how similar two names are, for proposals beside an unknown name, and in which form plans find experts by name.
package near
