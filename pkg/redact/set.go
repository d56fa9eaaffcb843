package redact

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Set is what counts as a secret in a process. It only grows. It may be used from several goroutines; nil holds nothing and takes
// nothing.
type Set struct {
	mu      sync.Mutex // Guards secrets.
	secrets []string
	current atomic.Pointer[Redactor]
}

// NewSet makes a set of the values that are telling.
func NewSet(values ...string) *Set {
	s := &Set{}
	s.Add(values...)
	return s
}

// Add takes values in, and the lines of those that have several. What is not telling is left out.
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

// Redactor takes out what the set holds now.
func (s *Set) Redactor() *Redactor {
	if s == nil {
		return nil
	}
	return s.current.Load()
}

// parts are the value and its lines, as far as they are telling: a program may show one line of a private key.
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
