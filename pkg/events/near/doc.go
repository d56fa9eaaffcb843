// Package near says how similar two names are, for proposals beside an unknown name.
package near
