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
	known, _, err := b.remoteContexts(ctx, session)
	return known[expert], err
}

func (b *Bus) remoteContexts(ctx context.Context, session string) (map[string]string, uint64, error) {
	known := map[string]string{}
	value, revision, err := b.Sessions().GetLeader(ctx, ContextKey(session))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, 0, fmt.Errorf("read contexts of session %s: %w", session, err)
	}
	if len(value) > 0 && json.Unmarshal(value, &known) != nil || known == nil {
		known = map[string]string{}
	}
	return known, revision, nil
}

// SetRemoteContext stores the id by which a remote agent, an expert, knows a session; an empty id removes it. A process that may not write the
// id asks a scheduler, which writes it for runners of the expert's pool. Errors: ErrUnavailable, ErrNotPermitted.
func (b *Bus) SetRemoteContext(ctx context.Context, session, expert, id string) error {
	k, err := b.Sessions(), ErrNotPermitted
	if !b.denials.known(k.stream()) {
		err = b.setRemoteContext(ctx, session, expert, id, func(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
			return k.UpdateAsync(key, value, revision).Wait(ctx)
		})
	}
	if errors.Is(err, ErrNotPermitted) {
		b.denials.note(k.stream())
		err = b.submitRemoteContext(ctx, session, expert, id)
	}
	return err
}

// setRemoteContext changes the ids of a session until no one else changes them meanwhile.
func (b *Bus) setRemoteContext(ctx context.Context, session, expert, id string, update func(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)) error {
	for {
		known, revision, err := b.remoteContexts(ctx, session)
		if err != nil || known[expert] == id {
			return err
		}
		if known[expert] = id; id == "" {
			delete(known, expert)
		}
		value, err := json.Marshal(known)
		if err != nil {
			return fmt.Errorf("write contexts of session %s: %w", session, err)
		}
		_, err = update(ctx, ContextKey(session), value, revision)
		if !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}

// submitRemoteContext asks a scheduler to store an id.
func (b *Bus) submitRemoteContext(ctx context.Context, session, expert, id string) error {
	card, _, err := b.Experts().GetLeader(ctx, expert)
	if err != nil {
		return fmt.Errorf("read the card of %s: %w", expert, err)
	}
	_, err = b.Services().submit(ctx, b.names.Card(poolOf(card), expert), keeping{Op: keepContext, Key: session, Value: []byte(id)})
	if unknownTo(err) {
		_, err = instead(err, func() (uint64, error) {
			return 0, b.setRemoteContext(ctx, session, expert, id, b.Sessions().Update)
		})
	}
	if err != nil {
		return fmt.Errorf("write contexts of session %s: %w", session, err)
	}
	return nil
}

// writeContext stores the id by which an expert knows a session for a runner of its pool.
func (s Services) writeContext(ctx context.Context, expert string, r keeping) error {
	if r.Key == "" || len(r.Value) > longestContext {
		return fmt.Errorf("%w: an id of %d bytes for session %.80q, at most %d are kept", ErrRefused, len(r.Value), r.Key, longestContext)
	}
	return s.bus.setRemoteContext(ctx, r.Key, expert, string(r.Value), s.bus.Sessions().Update)
}
