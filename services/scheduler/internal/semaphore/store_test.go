package semaphore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// shelf is a bucket with one key.
type shelf struct {
	value    []byte
	revision uint64
	// before is called once, ahead of the next write: another writer was faster.
	before func()
	// lost makes the answer to the next write get lost.
	lost bool
}

func (s *shelf) GetLeader(context.Context, string) ([]byte, uint64, error) {
	if s.value == nil {
		return nil, s.revision, bus.ErrNotFound
	}
	return s.value, s.revision, nil
}

func (s *shelf) Update(_ context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	if revision != s.revision {
		return 0, bus.ErrConflict
	}
	s.value, s.revision = value, s.revision+1
	if s.lost {
		s.lost = false
		return 0, bus.ErrUnknown
	}
	return s.revision, nil
}

func (s *shelf) Remove(ctx context.Context, key string, revision uint64) error {
	_, err := s.Update(ctx, key, nil, revision)
	return err
}

func TestTwoSchedulersGiveASlotOnce(t *testing.T) {
	keys := &shelf{}
	all := func(context.Context, string) (bool, error) { return true, nil }
	one, two := New(keys, all), New(keys, all)
	keys.before = func() {
		if g, err := two.Claim(t.Context(), "key", wants("b", "", 1, 1)); err != nil || len(g.Held) != 1 {
			t.Errorf("%+v %v", g, err)
		}
	}
	g, err := one.Claim(t.Context(), "key", wants("a", "", 1, 1))
	if err != nil || len(g.Held) != 0 {
		t.Errorf("%+v %v", g, err)
	}
	g, err = two.Claim(t.Context(), "key", wants("b", "", 1, 0))
	if err != nil || !slices.Equal(g.Called, []string{"a"}) {
		t.Errorf("%+v %v", g, err)
	}
	fresh := wants("b", "", 1, 0)
	if g, err = one.Claim(t.Context(), "key", fresh); err != nil || len(g.Called) != 0 {
		t.Errorf("called twice: %+v %v", g, err)
	}
	fresh.Fresh = true
	if g, err = one.Claim(t.Context(), "key", fresh); err != nil || !slices.Equal(g.Called, []string{"a"}) {
		t.Errorf("a call that may not have been made is not made again: %+v %v", g, err)
	}
	if g, err = one.Claim(t.Context(), "key", wants("a", "", 1, 1)); err != nil || !slices.Equal(g.Held, []graph.Run{{SubJob: "s0", Run: 1}}) {
		t.Errorf("%+v %v", g, err)
	}
	if _, err = one.Claim(t.Context(), "key", wants("a", "", 1, 0)); err != nil || keys.value != nil {
		t.Errorf("left behind: %s %v", keys.value, err)
	}
}

func TestASlotOfADeletedJobIsFoundByWhoeverAsksAgain(t *testing.T) {
	keys, dead := &shelf{}, errors.New("unavailable")
	b := New(keys, func(_ context.Context, job string) (bool, error) { return job != "deleted", dead })
	for _, job := range []string{"deleted", "a"} {
		musttest.Get(b.Claim(t.Context(), "key", wants(job, "", 1, 1)))(t)
	}
	if _, err := b.Claim(t.Context(), "key", wants("a", "", 1, 1)); !errors.Is(err, dead) {
		t.Errorf("error %v", err)
	}
	dead = nil
	if g, err := b.Claim(t.Context(), "key", wants("a", "", 1, 1)); err != nil || len(g.Held) != 1 {
		t.Errorf("%+v %v", g, err)
	}
}

func TestAllSlotsOfADeletedJobAreTakenAtOnce(t *testing.T) {
	const many = 3 * mostWants
	b := New(&shelf{}, func(_ context.Context, job string) (bool, error) { return job != "deleted", nil })
	musttest.Get(b.Claim(t.Context(), "key", wants("deleted", "", many, many)))(t)
	if g, err := b.Claim(t.Context(), "key", wants("a", "", many, many)); err != nil || len(g.Held) != 0 {
		t.Errorf("%+v %v", g, err)
	}
	if g, err := b.Claim(t.Context(), "key", wants("a", "", many, many)); err != nil || len(g.Held) != many {
		t.Errorf("%d have a slot, %v", len(g.Held), err)
	}
}

func TestASlotThatAWriteOfUnknownOutcomeHasGivenIsCalledByTheClaimAnew(t *testing.T) {
	keys := &shelf{}
	b := New(keys, func(context.Context, string) (bool, error) { return true, nil })
	for _, job := range []string{"a", "b"} {
		musttest.Get(b.Claim(t.Context(), "key", wants(job, "", 1, 1)))(t)
	}
	over := wants("a", "", 1, 0)
	keys.lost = true
	if _, err := b.Claim(t.Context(), "key", over); !errors.Is(err, bus.ErrUnknown) {
		t.Fatalf("error %v", err)
	}
	over.Fresh = true
	if g, err := b.Claim(t.Context(), "key", over); err != nil || !slices.Equal(g.Called, []string{"b"}) {
		t.Errorf("%+v %v", g, err)
	}
}
