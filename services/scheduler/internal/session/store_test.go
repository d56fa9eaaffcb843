package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// shelf is a bucket in memory. before, when set, is called ahead of each write, once.
type shelf struct {
	mu     sync.Mutex
	values map[string][]byte
	revs   map[string]uint64
	last   uint64
	writes int
	before func()
}

func newShelf() *shelf { return &shelf{values: map[string][]byte{}, revs: map[string]uint64{}} }

func (s *shelf) book() *Store {
	return NewStore(s, func(context.Context) ([]bus.Entry, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		var list []bus.Entry
		for key, value := range s.values {
			list = append(list, bus.Entry{Key: key, Value: value})
		}
		return list, nil
	})
}

func (s *shelf) GetLeader(_ context.Context, key string) ([]byte, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := s.values[key]; ok {
		return value, s.revs[key], nil
	}
	return nil, s.revs[key], bus.ErrNotFound
}

func (s *shelf) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revs[key] != revision {
		return 0, bus.ErrConflict
	}
	s.last++
	s.writes++
	s.values[key], s.revs[key] = value, s.last
	return s.last, nil
}

func (s *shelf) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.revs[key] = s.last
	delete(s.values, key)
	return nil
}

func open(t *testing.T, b *Store, session, job, user string) error {
	t.Helper()
	_, _, err := b.Open(t.Context(), &events.Request{Session: session, ID: job, User: user, Goal: "goal of " + job, Thread: "t-" + job})
	return err
}

func note(t *testing.T, b *Store, talk loop.SessionRecord) {
	t.Helper()
	talk.Session = "s"
	if talk.Changed.IsZero() {
		talk.Changed = time.Date(2026, 1, 1, 0, 0, int(talk.Seq), 0, time.UTC)
	}
	musttest.Do(t, b.Note(t.Context(), &talk))
}

func read(t *testing.T, b *Store) *Record {
	t.Helper()
	return musttest.Get(b.Get(t.Context(), "s"))(t)
}

// proves V-T10
// proves V28
func TestATitleIsSetOnceByTheFirstJobWithAGraph(t *testing.T) {
	b := newShelf().book()
	musttest.Do(t, open(t, b, "s", "j1", ""))
	note(t, b, loop.SessionRecord{Job: "j1", Status: events.Finished, Seq: 5})
	if got := read(t, b).Title; got != "" {
		t.Errorf("a job without steps gave the title %q", got)
	}
	musttest.Do(t, open(t, b, "s", "j2", ""))
	note(t, b, loop.SessionRecord{Job: "j2", Status: events.Running, Title: "First plan", Seq: 9})
	musttest.Do(t, open(t, b, "s", "j3", ""))
	note(t, b, loop.SessionRecord{Job: "j3", Status: events.Running, Title: "Second plan", Seq: 12})
	if got := read(t, b).Title; got != "First plan" {
		t.Errorf("title %q", got)
	}
	musttest.Get(b.Rename(t.Context(), "s", "  Mine\nand more "))(t)
	note(t, b, loop.SessionRecord{Job: "j3", Status: events.Finished, Title: "Second plan", Seq: 20})
	if got := read(t, b).Title; got != "Mine" {
		t.Errorf("a name given by a person became %q", got)
	}
}

// proves V14
// proves V-T11
func TestASessionIsForItsOwnUser(t *testing.T) {
	b := newShelf().book()
	musttest.Do(t, open(t, b, "s", "j1", "ann"))
	for _, user := range []string{"bob", ""} {
		var faults events.Faults
		if err := open(t, b, "s", "j2", user); !errors.As(err, &faults) || faults[0].Code != events.CodeNotPermitted || faults[0].Field != "user" || faults[0].Hint == "" {
			t.Errorf("user %q: %v", user, err)
		}
	}
	musttest.Do(t, open(t, b, "s", "j2", "ann"))
	musttest.Do(t, open(t, b, "free", "j3", ""))
	musttest.Do(t, open(t, b, "free", "j4", "bob"))
	if r := read(t, b); r.User != "ann" || len(r.Jobs) != 2 {
		t.Errorf("%+v", r)
	}
	if r, err := b.Get(t.Context(), "free"); err != nil || r.User != "" || r.Total != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWhatIsRepeatedOrLateChangesNothing(t *testing.T) {
	s := newShelf()
	b := s.book()
	steps := []loop.SessionRecord{
		{Job: "j1", Status: events.Running, Title: "T", Seq: 4},
		{Job: "j1", Status: events.Waiting, Title: "T", Asking: true, Seq: 7},
		{Job: "j1", Status: events.Finished, Title: "T", Seq: 11, Ended: time.Unix(9, 0).UTC()},
	}
	musttest.Do(t, open(t, b, "s", "j1", "ann"))
	for _, step := range steps {
		note(t, b, step)
	}
	want, writes := string(s.values["s"]), s.writes
	for range 2 {
		musttest.Do(t, open(t, b, "s", "j1", "ann"))
		for _, step := range steps {
			note(t, b, step)
		}
	}
	if got := string(s.values["s"]); got != want || s.writes != writes {
		t.Errorf("%d writes more\n%s\n%s", s.writes-writes, got, want)
	}
}

func TestWritersOfOneSessionMeetAtItsRevision(t *testing.T) {
	s := newShelf()
	books := []*Store{s.book(), s.book()}
	s.before = func() { musttest.Do(t, open(t, books[1], "s", "early", "")) }
	musttest.Do(t, open(t, books[0], "s", "late", ""))
	if r := read(t, books[0]); r.Jobs[0].ID != "early" || r.Jobs[1].ID != "late" {
		t.Errorf("%+v", r.Jobs)
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if err := open(t, books[i%2], "s", fmt.Sprint("j", i), ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if r := read(t, books[0]); r.Total != 42 || len(r.Jobs) != 42 {
		t.Errorf("%d of %d jobs", len(r.Jobs), r.Total)
	}
}

func TestAJobThatWasNotAdmittedLeavesNoTrace(t *testing.T) {
	b := newShelf().book()
	musttest.Do(t, open(t, b, "s", "j1", "ann"))
	musttest.Do(t, b.Leave(t.Context(), &events.Request{Session: "s", ID: "j1"}))
	if _, err := b.Get(t.Context(), "s"); err == nil {
		t.Error("the session is still there")
	}
	musttest.Do(t, open(t, b, "s", "j2", "bob"))
	if r := read(t, b); r.User != "bob" || r.Total != 1 {
		t.Errorf("%+v", r)
	}
}

func TestARecordIsBoundedAndWhatGoesOnStaysLongest(t *testing.T) {
	b := newShelf().book()
	at := time.Unix(0, 0).UTC()
	note(t, b, loop.SessionRecord{Job: "live", Status: events.Running, Seq: 1, Created: at})
	for i := range mostJobs + 60 {
		id := fmt.Sprint("j", i)
		note(t, b, loop.SessionRecord{Job: id, Status: events.Finished, Title: "T", Goal: strings.Repeat("goal ", 100), Seq: uint64(i + 1), Created: at.Add(time.Duration(i+1) * time.Hour)})
	}
	r := read(t, b)
	if len(r.Jobs) != mostJobs || r.Jobs[0].ID != "live" || r.Total != mostJobs+61 {
		t.Errorf("%d of %d, first %s", len(r.Jobs), r.Total, r.Jobs[0].ID)
	}
	text, err := json.Marshal(r)
	if err != nil || len(text) > 100<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestARecordFitsAMessageWhateverItsJobsHandOff(t *testing.T) {
	s := newShelf()
	b := s.book()
	for i := range 40 {
		var handed []string
		for j := range 50 {
			handed = append(handed, fmt.Sprint(strings.Repeat("s", 400), i, j))
		}
		note(t, b, loop.SessionRecord{Job: fmt.Sprint("j", i), Status: events.Running, Seq: uint64(i + 1), Handed: handed})
	}
	if r := read(t, b); len(s.values["s"]) > mostBytes || r.Total != 40 || r.Jobs[len(r.Jobs)-1].ID != "j39" {
		t.Errorf("%d bytes, %d of %d jobs", len(s.values["s"]), len(r.Jobs), r.Total)
	}
}

func TestTheStateSaysWhatTheJobsAreAbout(t *testing.T) {
	b := newShelf().book()
	musttest.Do(t, open(t, b, "s", "j1", ""))
	for _, step := range []struct {
		talk loop.SessionRecord
		want State
	}{
		{loop.SessionRecord{Job: "j1", Status: events.Running, Seq: 2}, Active},
		{loop.SessionRecord{Job: "j1", Status: events.Waiting, Asking: true, Seq: 3}, Waiting},
		{loop.SessionRecord{Job: "j1", Status: events.Stopped, Seq: 4}, Stopped},
		{loop.SessionRecord{Job: "j2", Status: events.Planning, Seq: 5}, Active},
		{loop.SessionRecord{Job: "j2", Status: events.Failed, Seq: 6}, Active},
	} {
		note(t, b, step.talk)
		if got := read(t, b); got.State != step.want {
			t.Errorf("after %s of %s: %s, want %s", step.talk.Status, step.talk.Job, got.State, step.want)
		}
	}
}

// proves V16
// proves V-T7
func TestWhatWasHandedOffHasARecordOfItsOwnInTheSameThread(t *testing.T) {
	s := newShelf()
	b := s.book()
	musttest.Do(t, open(t, b, "s", "j1", "ann"))
	child := loop.SessionRecord{Session: "j1~a", Parent: "s", User: "ann", Thread: "t-j1", Job: "j1", SubJob: "a", Goal: "look", Title: "look", Status: events.Failed, Seq: 9, Changed: time.Unix(9, 0).UTC()}
	note(t, b, loop.SessionRecord{Job: "j1", Status: events.Failed, Title: "T", Seq: 9, Handed: []string{"j1~a"}, Children: []loop.SessionRecord{child}})
	got := musttest.Get(b.Get(t.Context(), "j1~a"))(t)
	want := &Record{
		ID: "j1~a", Parent: "s", User: "ann", Title: "look", State: Active, Updated: time.Unix(9, 0).UTC(), Total: 1, Threads: []string{"t-j1"},
		Jobs: []Line{{ID: "j1", SubJob: "a", Thread: "t-j1", Goal: "look", Status: events.Failed, Seq: 9}},
	}
	musttest.Equal(t, want, got)
	musttest.Do(t, b.Remove(t.Context(), read(t, b)))
	if len(s.values) != 0 {
		t.Errorf("left: %v", s.values)
	}
}

// Otherwise a user with the right to submit could read the conversation of another user's step by starting its session first.
func TestNoRequestBeginsTheSessionOfAStep(t *testing.T) {
	b := newShelf().book()
	var faults events.Faults
	if err := open(t, b, "j1~a", "other", "bob"); !errors.As(err, &faults) || faults[0].Code != events.CodeConflict || faults[0].Field != "session" {
		t.Errorf("before the step: %v", err)
	}
	musttest.Do(t, open(t, b, "s", "j1", "ann"))
	child := loop.SessionRecord{Session: "j1~a", Parent: "s", User: "ann", Job: "j1", SubJob: "a", Status: events.Running, Seq: 9}
	note(t, b, loop.SessionRecord{Job: "j1", Status: events.Running, Seq: 9, Handed: []string{"j1~a"}, Children: []loop.SessionRecord{child}})
	if err := open(t, b, "j1~a", "other", "bob"); !errors.As(err, &faults) || faults[0].Code != events.CodeNotPermitted {
		t.Errorf("as another user: %v", err)
	}
	musttest.Do(t, open(t, b, "j1~a", "more", "ann"))
	for _, id := range []string{"~a", "j1~", "j 1~a", "-~a"} {
		musttest.Do(t, open(t, b, id, "j2", "bob"))
	}
}

func TestEveryIdHasAKey(t *testing.T) {
	b := newShelf().book()
	for _, id := range []string{"plain", "mit Leerzeichen", "a.b>*", "会话", "x--tricky", "~J1~step"} {
		musttest.Do(t, open(t, b, id, "j", ""))
		if r, err := b.Get(t.Context(), id); err != nil || r.ID != id {
			t.Errorf("%q: %+v, %v", id, r, err)
		}
	}
	list, err := b.List(t.Context())
	if err != nil || len(list) != 6 {
		t.Errorf("%d, %v", len(list), err)
	}
	var faults events.Faults
	if err := open(t, b, strings.Repeat("s", events.MaxName+1), "j", ""); !errors.As(err, &faults) || faults[0].Field != "session" {
		t.Errorf("%v", err)
	}
}
