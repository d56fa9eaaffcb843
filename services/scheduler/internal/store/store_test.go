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
	"github.com/jobgraph/jobgraph/pkg/events/kept"
	"github.com/jobgraph/jobgraph/pkg/musttest"
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
	return fmt.Appendf(nil, `{"fold":1,"id":"j","seq":7,"event_id":"e7","goal":%q,"subjobs":["%s"]}`, `a ,"subjobs":[ b`, strings.Repeat("s", size))
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
		next := musttest.Get(s.Save(t.Context(), "j", loop.Saved{State: want, Revision: revision}, nil))(t)
		revision = next
		got, err := s.Load(t.Context(), "j")
		if err != nil || got.Revision != revision || !bytes.Equal(got.State, want) || got.Unsigned || got.Refused != "" {
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
			musttest.Get(s.Save(t.Context(), "j", loop.Saved{State: state(3 * mostInOne)}, nil))(t)
			musttest.Do(t, harm(s, l, keys))
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

// rewrite puts a value as another writer would.
func rewrite(t *testing.T, keys bus.KV, old, other string) {
	t.Helper()
	value, _, err := keys.GetLeader(t.Context(), "j")
	if err != nil || !bytes.Contains(value, []byte(old)) {
		t.Fatalf("no %s in %.300s, %v", old, value, err)
	}
	musttest.Get(keys.Put(t.Context(), "j", bytes.Replace(value, []byte(old), []byte(other), 1), 0))(t)
}

func TestAStateThatIsNotWhatWasWrittenIsRefusedWithTheReason(t *testing.T) {
	for _, size := range []int{10, 3 * mostInOne} {
		s, _, keys := open(t)
		musttest.Get(s.Save(t.Context(), "j", loop.Saved{State: state(size)}, nil))(t)
		if size < mostInOne {
			rewrite(t, keys, `"subjobs":["s`, `"subjobs":["S`)
		} else {
			rewrite(t, keys, `"digest":"crc32c:`, `"digest":"crc32c:0`)
		}
		got, err := s.Load(t.Context(), "j")
		if err != nil || got.State != nil || got.Revision == 0 || !strings.Contains(got.Refused, "digest") {
			t.Errorf("size %d: %d bytes, refused for %q, %v", size, len(got.State), got.Refused, err)
		}
	}
}

func TestAStateOfAReleaseWithoutDigestsIsGivenForTheLogToTell(t *testing.T) {
	for _, size := range []int{10, 3 * mostInOne} {
		s, _, keys := open(t)
		want := state(size)
		musttest.Get(s.Save(t.Context(), "j", loop.Saved{State: want}, nil))(t)
		rewrite(t, keys, `,"digest":"`+kept.Digest(want)+`"`, "")
		got, err := s.Load(t.Context(), "j")
		if err != nil || !bytes.Equal(got.State, want) || !got.Unsigned {
			t.Errorf("size %d: %d bytes, unsigned %t, %v", size, len(got.State), got.Unsigned, err)
		}
	}
}

func TestTheMarkOfAQuarantineWithoutAStateIsNoDamage(t *testing.T) {
	s, _, _ := open(t)
	musttest.Get(s.Save(t.Context(), "j", loop.Saved{}, &events.Fault{Code: events.CodeInternal}))(t)
	if got, err := s.Load(t.Context(), "j"); err != nil || got.State != nil || got.Refused != "" {
		t.Errorf("%s, refused for %q, %v", got.State, got.Refused, err)
	}
}

func TestAStateThatWasDeletedCanBeSavedAgain(t *testing.T) {
	s, _, keys := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	musttest.Get(s.Save(ctx, "j", loop.Saved{State: state(1)}, nil))(t)
	musttest.Do(t, keys.Delete(ctx, "j"))
	got, err := s.Load(ctx, "j")
	if err != nil || got.State != nil {
		t.Fatalf("%s, %v", got.State, err)
	}
	if _, err := s.Save(ctx, "j", loop.Saved{State: state(1), Revision: got.Revision}, nil); err != nil {
		t.Error(err)
	}
}
