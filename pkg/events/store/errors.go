package store

import "errors"

// The classes of errors, for errors.Is.
var (
	// ErrConflict means that the expectation of a write failed: another writer was first. Nothing was stored.
	ErrConflict = errors.New("expectation does not hold")
	// ErrUnknown means that a write may or may not have been stored: repeat it with the same identity.
	ErrUnknown = errors.New("outcome unknown")
	// ErrTooLarge means that a message can never be stored. Nothing was stored.
	ErrTooLarge = errors.New("too large")
	// ErrNotPermitted means that the broker does not permit this call. Nothing was stored.
	ErrNotPermitted = errors.New("not permitted")
	// ErrNotFound means that there is no such message, key, blob, stream or consumer.
	ErrNotFound = errors.New("not found")
)
