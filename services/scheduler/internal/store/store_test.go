package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// log is one event in one stream.
type log struct {
	identity string
	event    events.Event
}

func (l *log) Identity(context.Context) (string, error) { return l.identity, nil }
func (l *log) EventAt(_ context.Context, seq uint64) (events.Event, error) {
	if seq != l.event.Seq {
		return events.Event{}, bus.ErrNotFound
	}
	return l.event, nil
}

func state(size int) []byte {
	return fmt.Appendf(nil, `{"id":"j","seq":7,"event_id":"e7","goal":%q,"subjobs":["%s"]}`, `a ,"subjobs":[ b`, strings.Repeat("s", size))
}

func open(t *testing.T) (*Store, *log, bus.KV) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("store")
	l := &log{identity: "first", event: events.Event{Job: "j", Seq: 7, ID: "e7"}}
	return New(b.State(), l), l, b.State()
}

func TestAStateOfAnySizeComesBackAsItWas(t *testing.T) {
	s, _, keys := open(t)
	revision := uint64(0)
	for _, size := range []int{0, mostInOne, 3 * mostInOne, 10} {
		want := state(size)
		next, err := s.Save(t.Context(), "j", loop.Saved{State: want, Revision: revision}, nil)
		if err != nil {
			t.Fatal(err)
		}
		revision = next
		got, err := s.Load(t.Context(), "j")
		if err != nil || got.Revision != revision || !bytes.Contains(got.State, want[1:]) && !bytes.Equal(got.State, want) {
			t.Errorf("size %d: revision %d of %d, %d bytes of %d, %v", size, got.Revision, revision, len(got.State), len(want), err)
		}
		if value, _, err := keys.GetLeader(t.Context(), "j"); err != nil || !bytes.Contains(value, []byte(`"goal":"a ,\"subjobs\":[ b"`)) {
			t.Errorf("size %d: the value shows no goal: %.200s, %v", size, value, err)
		}
	}
	if _, err := s.Save(t.Context(), "j", loop.Saved{State: state(1), Revision: revision - 1}, nil); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("an old revision: %v", err)
	}
}

func TestAStateThatIsTornOrOfAnotherLogIsNone(t *testing.T) {
	cases := map[string]func(s *Store, l *log, keys bus.KV) error{
		"torn": func(_ *Store, _ *log, keys bus.KV) error {
			_, err := keys.Put(context.Background(), "j.1", []byte("other"), 0)
			return err
		},
		"chunk gone":    func(_ *Store, _ *log, keys bus.KV) error { return keys.Delete(context.Background(), "j.2") },
		"other stream":  func(s *Store, l *log, _ bus.KV) error { l.identity = "second"; s.Refresh(); return nil },
		"event gone":    func(_ *Store, l *log, _ bus.KV) error { l.event.Seq = 6; return nil },
		"other event":   func(_ *Store, l *log, _ bus.KV) error { l.event.ID = "e7b"; return nil },
		"another's job": func(_ *Store, l *log, _ bus.KV) error { l.event.Job = "k"; return nil },
		"not ours": func(_ *Store, _ *log, keys bus.KV) error {
			_, err := keys.Put(context.Background(), "j", []byte("hello"), 0)
			return err
		},
	}
	for name, harm := range cases {
		t.Run(name, func(t *testing.T) {
			s, l, keys := open(t)
			if _, err := s.Save(t.Context(), "j", loop.Saved{State: state(3 * mostInOne)}, nil); err != nil {
				t.Fatal(err)
			}
			if err := harm(s, l, keys); err != nil {
				t.Fatal(err)
			}
			got, err := s.Load(t.Context(), "j")
			if err != nil || got.State != nil || got.Revision == 0 {
				t.Errorf("%d bytes at revision %d, %v", len(got.State), got.Revision, err)
			}
			if _, err := s.Save(t.Context(), "j", loop.Saved{State: state(1), Revision: got.Revision}, nil); err != nil {
				t.Errorf("save again: %v", err)
			}
		})
	}
}

func TestAStateThatWasDeletedCanBeSavedAgain(t *testing.T) {
	s, _, keys := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := s.Save(ctx, "j", loop.Saved{State: state(1)}, nil); err != nil {
		t.Fatal(err)
	}
	if err := keys.Delete(ctx, "j"); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(ctx, "j")
	if err != nil || got.State != nil {
		t.Fatalf("%s, %v", got.State, err)
	}
	if _, err := s.Save(ctx, "j", loop.Saved{State: state(1), Revision: got.Revision}, nil); err != nil {
		t.Error(err)
	}
}
