package bus

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// denials passes refusals of the server to those who wait for an answer: the server refuses a message by an error of the connection
// and never answers the message itself. A nil value does nothing.
type denials struct {
	mu      sync.Mutex // Guards all below.
	next    int
	waiting map[int]denial
	seen    map[string]bool // Streams in which this process may not write or remove anything.
}

// denial is one waiting caller.
type denial struct {
	prefix string
	tell   func(subject string, err error)
}

func newDenials() *denials { return &denials{waiting: map[int]denial{}, seen: map[string]bool{}} }

var refusedSubject = regexp.MustCompile(`(?i)permissions violation for publish to "(\S+)"`)

// heard handles an error of the connection; it reports whether it was a refusal that a caller waits for.
func (d *denials) heard(err error) bool {
	found := refusedSubject.FindStringSubmatch(err.Error())
	if d == nil || found == nil {
		return false
	}
	subject := found[1]
	refused := fmt.Errorf("%w: publish to %s", ErrNotPermitted, subject)
	d.mu.Lock()
	var told []func(string, error)
	waited := false
	for _, w := range d.waiting { // any order: all get the same refusal.
		if strings.HasPrefix(subject, w.prefix) {
			waited = waited || w.prefix != ""
			told = append(told, w.tell)
		}
	}
	d.mu.Unlock()
	for _, tell := range told {
		tell(subject, refused)
	}
	return waited
}

// on calls tell for each refused subject that begins with a prefix, until stop. tell must not block.
func (d *denials) on(prefix string, tell func(subject string, err error)) (stop func()) {
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.next
	d.next++
	d.waiting[id] = denial{prefix, tell}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.waiting, id)
	}
}

// guard returns a context that ends, with the refusal as its cause, when a subject that begins with a prefix is refused.
func (d *denials) guard(ctx context.Context, prefix string) (guarded context.Context, stop func()) {
	if d == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	forget := d.on(prefix, func(_ string, err error) { cancel(err) })
	return ctx, func() {
		forget()
		cancel(nil)
	}
}

// refusalIn returns the refusal that ended a context of guard, or err.
func refusalIn(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(cause, ErrNotPermitted) {
		return cause
	}
	return err
}

// note remembers that something is not permitted, so that it is not tried again; known reports whether it was noted before.
func (d *denials) note(what string) {
	if d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.seen[what] = true
	}
}

func (d *denials) known(what string) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[what]
}
