package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// longestContext limits the id that a scheduler stores for a runner, in bytes.
const longestContext = 4 << 10

// contexts begins the keys of the ids by which remote agents know sessions.
const contexts = "contexts."

// ContextKey is the key, in the bucket of sessions, of the ids by which remote agents know a session. It contains a dot, unlike
// the key of any session.
func ContextKey(session string) string { return contexts + SessionKey(session) }

// RemoteContext returns the id by which a remote agent knows a session, or "". Errors: ErrUnavailable.
func (b *Bus) RemoteContext(ctx context.Context, session, expert string) (string, error) {
	known, _, err := remoteContext{b, session, expert}.all(ctx)
	return known[expert], err
}

// SetRemoteContext stores the id by which a remote agent, an expert, knows a session; an empty id removes it. A process that may not write the
// id asks a scheduler, which writes it for runners of the expert's pool. Errors: ErrUnavailable, ErrNotPermitted.
func (b *Bus) SetRemoteContext(ctx context.Context, session, expert, id string) error {
	k, c, err := b.Sessions(), remoteContext{b, session, expert}, ErrNotPermitted
	if !b.denials.known(k.stream()) {
		err = c.set(ctx, id, func(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
			return k.UpdateAsync(key, value, revision).Wait(ctx)
		})
	}
	if errors.Is(err, ErrNotPermitted) {
		b.denials.note(k.stream())
		err = c.submit(ctx, id)
	}
	return err
}

// remoteContext is the id by which an expert, a remote agent, knows a session.
type remoteContext struct {
	bus             *Bus
	session, expert string
}

// all returns the ids of the session by expert, and the revision of their entry.
func (c remoteContext) all(ctx context.Context) (map[string]string, uint64, error) {
	known := map[string]string{}
	value, revision, err := c.bus.Sessions().GetLeader(ctx, ContextKey(c.session))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, 0, fmt.Errorf("read contexts of session %s: %w", c.session, err)
	}
	if json.Unmarshal(value, &known) != nil || known == nil { // There is none, or it cannot be read.
		known = map[string]string{}
	}
	return known, revision, nil
}

// set changes the ids of the session until no one else changes them meanwhile.
func (c remoteContext) set(ctx context.Context, id string, update func(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)) error {
	for {
		known, revision, err := c.all(ctx)
		if err != nil || known[c.expert] == id {
			return err
		}
		if known[c.expert] = id; id == "" {
			delete(known, c.expert)
		}
		value, err := json.Marshal(known)
		if err != nil {
			return c.failed(err)
		}
		_, err = update(ctx, ContextKey(c.session), value, revision)
		if !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

// submit asks a scheduler to store an id.
func (c remoteContext) submit(ctx context.Context, id string) error {
	card, _, err := c.bus.Experts().GetLeader(ctx, c.expert)
	if err != nil {
		return fmt.Errorf("read the card of %s: %w", c.expert, err)
	}
	_, err = c.bus.Services().submit(ctx, c.bus.names.Card(poolOf(card), c.expert), keeping{Op: keepContext, Key: c.session, Value: []byte(id)})
	if unknownTo(err) {
		_, err = instead(err, func() (uint64, error) { return 0, c.set(ctx, id, c.bus.Sessions().Update) })
	}
	if err != nil {
		return c.failed(err)
	}
	return nil
}

func (c remoteContext) failed(err error) error {
	return fmt.Errorf("write contexts of session %s: %w", c.session, err)
}

// writeContext stores the id by which an expert knows a session for a runner of its pool.
func (s Services) writeContext(ctx context.Context, expert string, r keeping) error {
	if r.Key == "" || len(r.Value) > longestContext {
		return fmt.Errorf("%w: an id of %d bytes for session %.80q, at most %d are kept", ErrRefused, len(r.Value), r.Key, longestContext)
	}
	return remoteContext{s.bus, r.Key, expert}.set(ctx, string(r.Value), s.bus.Sessions().Update)
}
