package redact

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Set holds the secrets of a process. It only grows. It is safe for concurrent use; a nil Set is empty and ignores Add.
type Set struct {
	mu      sync.Mutex // Guards secrets.
	secrets []string
	current atomic.Pointer[Redactor]
}

// NewSet returns a set of those values that Telling accepts.
func NewSet(values ...string) *Set {
	s := &Set{}
	s.Add(values...)
	return s
}

// Add adds values, and the lines of multi-line values, if Telling accepts them.
func (s *Set) Add(values ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.secrets)
	for _, value := range values {
		for _, part := range parts(value) {
			if !slices.Contains(s.secrets, part) {
				s.secrets = append(s.secrets, part)
			}
		}
	}
	if len(s.secrets) != before {
		s.current.Store(New(s.secrets...))
	}
}

// Redactor returns a redactor for the present contents of the set.
func (s *Set) Redactor() *Redactor {
	if s == nil {
		return nil
	}
	return s.current.Load()
}

// parts returns the value and its lines, as far as Telling accepts them: a program may print one line of a private key.
func parts(value string) (all []string) {
	value = strings.TrimSpace(value)
	if !Telling(value) {
		return nil
	}
	all = append(all, value)
	if !strings.Contains(value, "\n") {
		return all
	}
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= minPart && Telling(line) && !strings.HasPrefix(line, "-----") {
			all = append(all, line)
		}
	}
	return all
}
