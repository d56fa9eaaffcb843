package client

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/jobgraph/jobgraph/pkg/memory"
)

// Memory manages what experts remember of users.
type Memory struct{ client *Client }

// Memory returns the operations on what experts remember of users.
func (k Knowledge) Memory() Memory { return Memory(k) }

func (m Memory) store() memory.Store { return memory.New(m.client.bus.Memory()) }

// List returns the records of a user that have facts or are switched off, by expert. Without a user, it returns those of all.
func (m Memory) List(ctx context.Context, user string) ([]memory.Record, error) {
	under := "fact"
	if user != "" {
		under = memory.KeysOf(user)
	}
	entries, err := m.client.bus.Memory().Under(ctx, under)
	if err != nil {
		return nil, err
	}
	switches, err := m.client.bus.Memory().Under(ctx, "user")
	if err != nil {
		return nil, err
	}
	var list []memory.Record
	for _, e := range append(entries, switches...) {
		var r memory.Record
		if json.Unmarshal(e.Value, &r) == nil && (user == "" || r.User == user) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b memory.Record) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Expert, b.Expert))
	})
	return list, nil
}

// Show returns what an expert remembers of a user, oldest first; an empty record if it remembers nothing.
func (m Memory) Show(ctx context.Context, user, expert string) (memory.Record, error) {
	return m.store().Show(ctx, user, expert)
}

// Add adds a fact. It reports whether the fact is new. Errors: memory.ErrOff, *events.Fault, and those of the bus.
func (m Memory) Add(ctx context.Context, user, expert, text string) (bool, error) {
	return m.store().Remember(ctx, user, expert, memory.Fact{ID: uuid.NewString()[:12], Text: text, At: time.Now().UTC()})
}

// Edit replaces the text of the fact whose id begins with id. Errors: *events.Fault, and those of the bus.
func (m Memory) Edit(ctx context.Context, user, expert, id, text string) (memory.Fact, error) {
	return m.store().Edit(ctx, user, expert, id, memory.Fact{Text: text, At: time.Now().UTC()})
}

// Forget deletes the fact whose id begins with id; without an id, all facts of the expert; without an expert, those of all experts.
// It returns the number of deleted facts.
func (m Memory) Forget(ctx context.Context, user, expert, id string) (int, error) {
	if expert != "" {
		return m.store().Forget(ctx, user, expert, id)
	}
	list, err := m.List(ctx, user)
	gone := 0
	for i := 0; i < len(list) && err == nil; i++ {
		if list[i].Expert != "" {
			var n int
			n, err = m.store().Forget(ctx, user, list[i].Expert, "")
			gone += n
		}
	}
	return gone, err
}

// Switch turns memory off or on for a user and an expert; without an expert, for all of them. Facts stay until they are forgotten.
func (m Memory) Switch(ctx context.Context, user, expert string, off bool) error {
	return m.store().Switch(ctx, user, expert, off)
}
