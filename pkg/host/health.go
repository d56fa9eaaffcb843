package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// checkTimeout limits one health check.
const checkTimeout = 2 * time.Second

// Reason says why a process is not ready; it is also the form of a note.
type Reason struct {
	// Name is the name of the check or note.
	Name string `json:"name"`
	// Reason says what is wrong.
	Reason string `json:"reason"`
}

// Health collects the reasons why a process is not ready. It is ready if there are none. It is safe for concurrent use.
type Health struct {
	mu     sync.Mutex // Guards the maps and each check's last run; held only briefly.
	blocks map[string]string
	checks map[string]*check
	notes  map[string]string

	secrets *redact.Set // Removed from all output. Written before the first use.
}

// check is a named check. At most one run of it is active, so that one that hangs costs one goroutine.
type check struct {
	ask     func(context.Context) error
	running chan struct{} // Closed when the active run has ended; nil if there is none.
	last    error
}

// NewHealth returns a Health that is ready.
func NewHealth() *Health {
	return &Health{blocks: map[string]string{}, checks: map[string]*check{}, notes: map[string]string{}}
}

// Block makes the process not ready until Clear of the same name; a second Block replaces the reason.
func (h *Health) Block(name, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.blocks[name] = reason
}

// Clear removes the reason that Block has set.
func (h *Health) Clear(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.blocks, name)
}

// Note adds information about a process that is ready nevertheless; a second Note of a name replaces the first.
func (h *Health) Note(name, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes[name] = text
}

// Unnote takes back what Note added; it is no error if there is no such note.
func (h *Health) Unnote(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.notes, name)
}

// Notes lists the notes by name.
func (h *Health) Notes() []Reason {
	h.mu.Lock()
	defer h.mu.Unlock()
	var notes []Reason
	for _, name := range slices.Sorted(maps.Keys(h.notes)) {
		notes = append(notes, Reason{Name: name, Reason: h.secrets.Redactor().Text(h.notes[name])})
	}
	return notes
}

// Add adds a check that runs at every readiness request; its error is the reason. At most one run is active, and one that
// takes longer than two seconds counts as failed. A second Add of a name replaces the first.
func (h *Health) Add(name string, ask func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks[name] = &check{ask: ask}
}

// Remove ends the check with a name; it is no error if there is none.
func (h *Health) Remove(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.checks, name)
}

// Reasons runs all checks concurrently and lists what is wrong, by name. An empty list means ready.
func (h *Health) Reasons(ctx context.Context) []Reason {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	h.mu.Lock()
	var reasons []Reason
	for name, reason := range h.blocks {
		reasons = append(reasons, Reason{Name: name, Reason: reason})
	}
	runs := make(map[string]*check, len(h.checks))
	waits := make(map[string]chan struct{}, len(h.checks))
	for name, c := range h.checks {
		if c.running == nil {
			h.start(ctx, c)
		}
		runs[name], waits[name] = c, c.running
	}
	h.mu.Unlock()
	for name, c := range runs {
		if err := h.await(ctx, c, waits[name]); err != nil {
			reasons = append(reasons, Reason{Name: name, Reason: err.Error()})
		}
	}
	for i := range reasons {
		reasons[i].Reason = h.secrets.Redactor().Text(reasons[i].Reason)
	}
	slices.SortFunc(reasons, func(a, b Reason) int { return strings.Compare(a.Name, b.Name) })
	return reasons
}

// start runs a check in a goroutine that ends with the check. The caller holds mu. The check has its own deadline, since a
// second request may wait for its result after the first has gone.
func (h *Health) start(ctx context.Context, c *check) {
	done := make(chan struct{})
	c.running = done
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
		defer cancel()
		err := guard(func() error { return c.ask(ctx) })
		h.mu.Lock()
		c.last, c.running = err, nil
		h.mu.Unlock()
		close(done)
	}()
}

func (h *Health) await(ctx context.Context, c *check, done chan struct{}) error {
	select {
	case <-done:
		h.mu.Lock()
		defer h.mu.Unlock()
		return c.last
	case <-ctx.Done():
		return fmt.Errorf("no answer within %s", checkTimeout)
	}
}
