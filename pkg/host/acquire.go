package host

import (
	"errors"
	"syscall"
	"time"
)

// A process that is killed may hold its addresses and locks for a moment longer: a program that it was starting has copies of its
// descriptors until it is executed. With programs starting all the time this was so after one kill in eight, for up to 185 ms.
const (
	acquireTries = 40
	acquireEvery = 50 * time.Millisecond
)

// Acquire calls take, which takes an address or a lock that one process at a time can hold. While another process holds it (EADDRINUSE,
// EWOULDBLOCK), it tries again, for two seconds at most. Errors: those of take.
func Acquire(take func() error) error {
	err := take()
	for range acquireTries {
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		<-time.After(acquireEvery)
		err = take()
	}
	return err
}
