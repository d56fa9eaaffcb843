package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// bucket is a Bucket in memory. Its race is called before each write.
type bucket struct {
	values    map[string]string
	revisions map[string]uint64
	last      uint64
	race      func()
}

func newBucket() *bucket {
	return &bucket{values: map[string]string{}, revisions: map[string]uint64{}}
}

func (b *bucket) GetLeader(_ context.Context, key string) ([]byte, uint64, error) {
	value, there := b.values[key]
	if !there {
		return nil, b.revisions[key], store.ErrNotFound
	}
	return []byte(value), b.revisions[key], nil
}

func (b *bucket) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if race := b.race; race != nil {
		b.race = nil
		race()
	}
	if b.revisions[key] != revision {
		return 0, store.ErrConflict
	}
	b.last++
	b.values[key], b.revisions[key] = string(value), b.last
	return b.last, nil
}

func (b *bucket) Remove(ctx context.Context, key string, revision uint64) error {
	_, err := b.Update(ctx, key, nil, revision)
	if err == nil {
		delete(b.values, key)
	}
	return err
}

func add(t *testing.T, s Store, id, text string) bool {
	t.Helper()
	return musttest.Get(s.Remember(t.Context(), "ann", "clerk", Fact{ID: id, Text: text}))(t)
}

func texts(t *testing.T, s Store) (list []string) {
	t.Helper()
	facts := musttest.Get(s.Recall(t.Context(), "ann", "clerk"))(t)
	for _, f := range facts {
		list = append(list, f.Text)
	}
	return list
}

func TestAFactIsAddedOnceAndTheOldestGivesWay(t *testing.T) {
	s := New(newBucket())
	if !add(t, s, "1", " one \n fact ") || add(t, s, "1", "another text") || add(t, s, "2", "One fact") {
		t.Error("a repeat is new, or a new fact is not")
	}
	musttest.Equal(t, []string{"one fact"}, texts(t, s))
	for i := range MaxFacts {
		add(t, s, fmt.Sprint("n", i), fmt.Sprint("fact ", i))
	}
	if got := texts(t, s); len(got) != MaxFacts || got[0] != "fact 99" || got[MaxFacts-1] != "fact 0" {
		t.Errorf("%d facts, from %q to %q", len(got), got[0], got[len(got)-1])
	}
	for _, text := range []string{"", " ", "\xff", strings.Repeat("x", MaxFact+1)} {
		var fault *events.Fault
		if _, err := s.Remember(t.Context(), "ann", "clerk", Fact{ID: "x", Text: text}); !errors.As(err, &fault) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}

func TestTwoWritersLoseNothing(t *testing.T) {
	b := newBucket()
	s := New(b)
	b.race = func() { add(t, s, "1", "first") }
	add(t, s, "2", "second")
	musttest.Equal(t, []string{"second", "first"}, texts(t, s))
}

func TestFactsAreEditedForgottenAndSwitchedOff(t *testing.T) {
	b := newBucket()
	s := New(b)
	add(t, s, "aa1", "one")
	add(t, s, "aa2", "two")
	var fault *events.Fault
	for id, code := range map[string]events.Code{"aa": events.CodeConflict, "b": events.CodeNotFound, "": events.CodeNotFound} {
		if _, err := s.Edit(t.Context(), "ann", "clerk", id, Fact{Text: "x"}); !errors.As(err, &fault) || fault.Code != code {
			t.Errorf("%q: %v", id, err)
		}
	}
	if f, err := s.Edit(t.Context(), "ann", "clerk", "aa1", Fact{Text: "uno"}); err != nil || f.Text != "uno" || f.ID != "aa1" {
		t.Errorf("%+v %v", f, err)
	}
	for _, expert := range []string{"", "clerk"} {
		musttest.Do(t, s.Switch(t.Context(), "ann", expert, true))
		if _, err := s.Remember(t.Context(), "ann", "clerk", Fact{ID: "3", Text: "three"}); !errors.Is(err, ErrOff) || texts(t, s) != nil {
			t.Errorf("off for %q: %v, %v", expert, err, texts(t, s))
		}
		musttest.Do(t, s.Switch(t.Context(), "ann", expert, false))
	}
	musttest.Equal(t, []string{"two", "uno"}, texts(t, s))
	if n, err := s.Forget(t.Context(), "ann", "clerk", "aa2"); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := s.Forget(t.Context(), "ann", "clerk", ""); n != 1 || err != nil || len(b.values) != 0 {
		t.Errorf("%d %v, left %v", n, err, b.values)
	}
}

func TestWhatIsSwitchedOffStaysOff(t *testing.T) {
	b := newBucket()
	s := New(b)
	add(t, s, "aa1", "one")
	b.race = func() { // Between the first check of the switch and the write.
		if err := s.Switch(t.Context(), "ann", "clerk", true); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if added, err := s.Remember(t.Context(), "ann", "clerk", Fact{ID: "2", Text: "two"}); added || !errors.Is(err, ErrOff) {
			t.Errorf("%t %v", added, err)
		}
		if _, err := s.Forget(t.Context(), "ann", "clerk", ""); err != nil {
			t.Error(err)
		}
	}
}
