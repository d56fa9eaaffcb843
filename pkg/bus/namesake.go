package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events/near"
)

// A plan names an expert by its id or by its name, and finds it by the id first. So a card whose id or name is that of an expert of another
// pool would take its work.

// called returns the id and the name of a card in the form in which plans find it, without those that are empty.
func called(card []byte) []string {
	var c struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	_ = json.Unmarshal(card, &c) // A card that cannot be read is found by no name.
	return slices.DeleteFunc([]string{near.Form(c.ID), near.Form(c.Name)}, func(name string) bool { return name == "" })
}

// namesake refuses the card of an expert of a pool if plans find an expert of another pool by one of its names. was is the card that the expert
// has, if any: while it has the same names, nothing is looked up. Errors: ErrNotPermitted, ErrUnavailable.
func (s Services) namesake(ctx context.Context, pool string, card, was []byte) error {
	names := called(card)
	if slices.Equal(names, called(was)) {
		return nil
	}
	list, err := s.bus.Experts().List(ctx)
	if err != nil && !errors.Is(err, ErrNotFound) { // Without the bucket there are no others.
		return err
	}
	for _, e := range list {
		if poolOf(e.Value) != pool && slices.ContainsFunc(called(e.Value), func(name string) bool { return slices.Contains(names, name) }) {
			return fmt.Errorf("%w: expert %s of pool %s has the same id or name", ErrNotPermitted, e.Key, poolOf(e.Value))
		}
	}
	return nil
}
