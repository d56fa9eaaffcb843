package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/run/lease/leasetest"
)

var (
	errTaken = errors.New("taken over")
	errOver  = errors.New("over")
)

// deafen makes a journal lose its next answer.
func deafen(j *leasetest.Journal) {
	j.Answers = func(context.Context, events.JournalRecord) error {
		j.Answers = nil
		return leasetest.ErrAway
	}
}

func who(owner string) lease.Run {
	return lease.Run{Job: "j", SubJob: "s", Run: 1, Owner: owner, Lease: 10 * time.Second}
}

func hooks() lease.Hooks {
	return lease.Hooks{Lost: func(_ string, over bool) error {
		if over {
			return errOver
		}
		return errTaken
	}}
}

func taken(t *testing.T, s *leasetest.Journal) *lease.Lease {
	t.Helper()
	_, a, err := lease.Admit(t.Context(), s, who("a"))
	if err != nil || a.Action != run.Claim {
		t.Fatal(a, err)
	}
	return musttest.Get(lease.Take(t.Context(), s, who("a"), a.Expect, run.Effect{}, hooks()))(t)
}

var result = run.Made(1, "a", run.Effect{Key: "k", Name: "k"}, nil, nil)

func TestAnAppendWaitsForTheBusAndIsStoredOnce(t *testing.T) {
	for name, setup := range map[string]func(*leasetest.Journal){
		"the bus is away":    func(s *leasetest.Journal) { s.Away(time.Minute) }, // Longer than the lease.
		"the answer is lost": func(s *leasetest.Journal) { deafen(s) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &leasetest.Journal{}
				l := taken(t, s)
				setup(s)
				if err := l.Append(t.Context(), result); err != nil || len(s.Entries) != 2 {
					t.Errorf("%v, %d records", err, len(s.Entries))
				}
				if err := l.Renew(t.Context()); err != nil || len(s.Entries) != 3 {
					t.Errorf("%v, %d records", err, len(s.Entries))
				}
			})
		})
	}
}

func TestAClaimWhoseAnswerIsLostIsFound(t *testing.T) {
	s := &leasetest.Journal{}
	deafen(s)
	if l := taken(t, s); l.Append(t.Context(), result) != nil || len(s.Entries) != 2 {
		t.Errorf("%d records", len(s.Entries))
	}
}

func TestNothingIsWrittenBehindAClaimThatIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		record events.JournalRecord
		want   error
	}{
		"another owner has taken it over": {run.Claimed(1, "b", time.Second, 0, run.Effect{}), errTaken},
		"the run is closed":               {run.Closed(1, "stop"), errOver},
		"a later run has begun":           {run.Claimed(2, "a", time.Second, 0, run.Effect{}), errOver},
	} {
		s := &leasetest.Journal{}
		l := taken(t, s)
		s.Add(c.record)
		if err := l.Confirm(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: confirmed with %v", name, err)
		}
		if err := l.Append(t.Context(), result); !errors.Is(err, c.want) || len(s.Entries) != 2 {
			t.Errorf("%s: %v, %d records", name, err, len(s.Entries))
		}
	}
}

func TestAClaimBehindAJournalThatHasGoneOnIsRefused(t *testing.T) {
	s := &leasetest.Journal{}
	s.Add(run.Closed(0, ""))
	if _, err := lease.Take(t.Context(), s, who("a"), 0, run.Effect{}, hooks()); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
}

func TestARunThatIsLetGoOfCanBeClaimedAtOnce(t *testing.T) {
	s := &leasetest.Journal{}
	taken(t, s).Release(t.Context())
	if _, a, err := lease.Admit(t.Context(), s, who("b")); err != nil || a.Action != run.Claim || !a.Takeover {
		t.Error(a, err)
	}
}

// one is the journal of one SubJob; another writer appends to it in between.
type one struct {
	*leasetest.Journal
	between func()
}

func (o *one) Read(ctx context.Context) ([]run.Entry, uint64, error) {
	list, err := o.Journal.Read(ctx, "", "")
	if o.between != nil {
		o.between()
		o.between = nil
	}
	return list, uint64(len(list)), err
}

func (o *one) Append(ctx context.Context, r events.JournalRecord, last uint64) (uint64, error) {
	return o.Journal.Append("", "", r, last).Wait(ctx)
}

func TestAFenceIsPutUpOnceBehindWhateverIsWrittenMeanwhile(t *testing.T) {
	s := &leasetest.Journal{}
	o := &one{Journal: s, between: func() { s.Add(run.Claimed(1, "a", time.Second, 0, run.Effect{})) }}
	for range 2 {
		j, err := lease.Fence(t.Context(), o, 1, "stop")
		if err != nil || !j.Claimed(1) || len(s.Entries) != 2 {
			t.Errorf("%v, %d records", err, len(s.Entries))
		}
	}
}

func TestALeaseThatHasPassedIsRenewedBeforeAnEffectBegins(t *testing.T) {
	intent := run.Intends(1, "a", run.Effect{Key: "k", Name: "k"})
	for name, begin := range map[string]func(context.Context, *lease.Lease) error{
		"an intent":   func(ctx context.Context, l *lease.Lease) error { return l.Begin(ctx, intent) },
		"a last look": func(ctx context.Context, l *lease.Lease) error { return l.Confirm(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &leasetest.Journal{}
				l := taken(t, s)
				if err := begin(t.Context(), l); err != nil || len(s.Entries) > 2 {
					t.Errorf("%v, %d records", err, len(s.Entries))
				}
				<-time.After(time.Minute) // The process was suspended.
				if err := begin(t.Context(), l); err != nil {
					t.Error(err)
				}
				if _, a, err := lease.Admit(t.Context(), s, who("b")); err != nil || a.Action != run.Wait {
					t.Error(a, err)
				}
			})
		})
	}
}

var failed = run.Reported(1, "a", events.KindSubJobReported, nil)

func TestAnEndIsKeptUnlessTheClaimIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*leasetest.Journal)
		want      error
		records   int
	}{
		"the claim stands":                {func(*leasetest.Journal) {}, nil, 2},
		"the answer is lost":              {func(s *leasetest.Journal) { deafen(s) }, nil, 2},
		"another owner has taken it over": {func(s *leasetest.Journal) { s.Add(run.Claimed(1, "b", time.Second, 0, run.Effect{})) }, errTaken, 2},
		"the run is closed":               {func(s *leasetest.Journal) { s.Add(run.Closed(1, "stop")) }, errOver, 2},
		"the journal stays away":          {func(s *leasetest.Journal) { s.Away(time.Hour) }, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &leasetest.Journal{}
				l := taken(t, s)
				c.meanwhile(s)
				began := time.Now()
				for range 2 { // It is stored once.
					if err := l.End(t.Context(), failed); !errors.Is(err, c.want) || len(s.Entries) != c.records {
						t.Errorf("%v, %d records", err, len(s.Entries))
					}
				}
				if time.Since(began) > 2*time.Second {
					t.Errorf("waited for %s", time.Since(began))
				}
			})
		})
	}
}

// A run may have been claimed on one of several subjects: it is closed on all of them, and held until its last owner must have
// stopped.
func TestARunIsClosedWhereverItCanBeClaimed(t *testing.T) {
	s, other := &leasetest.Journal{}, &leasetest.Journal{}
	s.Add(run.Claimed(1, "a", time.Minute, 0, run.Effect{}))
	for _, in := range [][]lease.One{{&one{Journal: s}, &one{Journal: other}}, {&one{Journal: other}, &one{Journal: s}}, {&one{Journal: s}, &one{Journal: other}}} {
		until, claimed, err := lease.Close(t.Context(), 1, "stop", in...)
		if err != nil || !claimed || !until.Equal(s.Entries[0].Time.Add(time.Minute)) {
			t.Fatal(until, claimed, err)
		}
		for _, j := range []*leasetest.Journal{s, other} {
			if last := j.Entries[len(j.Entries)-1]; last.Type != events.JournalClosed || len(j.Entries) > 2 {
				t.Errorf("%+v", j.Entries)
			}
		}
	}
	if _, claimed, err := lease.Close(t.Context(), 1, "stop", &one{Journal: &leasetest.Journal{}}, &one{Journal: &leasetest.Journal{}}); claimed || err != nil {
		t.Error(claimed, err)
	}
	other.Away(time.Minute)
	if _, _, err := lease.Close(t.Context(), 1, "stop", &one{Journal: s}, &one{Journal: other}); !errors.Is(err, leasetest.ErrAway) {
		t.Error(err)
	}
}
