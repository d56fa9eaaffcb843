package api

import (
	"errors"
	"sync"
)

// errNotMade is the error of those who wait for an answer whose making has panicked.
var errNotMade = errors.New("the answer was not made")

// shared makes a costly answer once for all who ask for it at the same time. Unlike singleflight of x/sync, it gives no one an answer that
// was begun before they asked.
type shared struct {
	mu   sync.Mutex // Guards the fields below.
	next *made      // The answer that is not begun yet; nil if no one waits for one.
	last *made      // The answer that was asked for last; nil before the first.
}

// made is an answer that several get.
type made struct {
	done   chan struct{} // Closed when the others are set.
	answer any
	err    error
}

// get returns an answer of produce.
func (s *shared) get(produce func() (any, error)) (any, error) {
	s.mu.Lock()
	mine, before := s.next, s.last
	first := mine == nil
	if first {
		mine = &made{done: make(chan struct{})}
		s.next, s.last = mine, mine
	}
	s.mu.Unlock()
	if first {
		s.produce(mine, before, produce)
	}
	<-mine.done
	return mine.answer, mine.err
}

// produce makes an answer when the one before it is made.
func (s *shared) produce(m, before *made, produce func() (any, error)) {
	defer close(m.done)
	if before != nil {
		<-before.done
	}
	s.mu.Lock()
	s.next = nil // Who asks from now on gets the next one.
	s.mu.Unlock()
	m.err = errNotMade // Unless produce returns.
	m.answer, m.err = produce()
}
