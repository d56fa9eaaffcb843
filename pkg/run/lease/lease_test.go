package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

var (
	errAway  = errors.New("the bus is away")
	errTaken = errors.New("taken over")
	errOver  = errors.New("over")
)

// shaky is a journal whose answers can get lost.
type shaky struct {
	entries []run.Entry
	// Until back everything fails; deaf stores the next append without saying so.
	back time.Time
	deaf bool
}

func (s *shaky) away() bool { return time.Now().Before(s.back) }

func (s *shaky) Read(context.Context, string, string) ([]run.Entry, error) {
	if s.away() {
		return nil, errAway
	}
	return append([]run.Entry(nil), s.entries...), nil
}

func (s *shaky) Clock(context.Context) (now, since time.Time, err error) {
	return time.Now(), time.Time{}, nil
}

type sent func() (uint64, error)

func (f sent) Wait(context.Context) (uint64, error) { return f() }

func (s *shaky) Append(_, _ string, r events.JournalRecord, last uint64) lease.Pending {
	return sent(func() (uint64, error) {
		if s.away() {
			return 0, errAway
		}
		if last != uint64(len(s.entries)) {
			return 0, store.ErrConflict
		}
		s.add(r)
		if s.deaf {
			s.deaf = false
			return 0, errAway
		}
		return last + 1, nil
	})
}

func (s *shaky) add(r events.JournalRecord) {
	s.entries = append(s.entries, run.Entry{JournalRecord: r, Seq: uint64(len(s.entries) + 1), Time: time.Now()})
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

func taken(t *testing.T, s *shaky) *lease.Lease {
	t.Helper()
	_, a, err := lease.Admit(t.Context(), s, who("a"))
	if err != nil || a.Action != run.Claim {
		t.Fatal(a, err)
	}
	l, err := lease.Take(t.Context(), s, who("a"), a.Expect, run.Effect{}, hooks())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var result = run.Made(1, "a", run.Effect{Key: "k", Name: "k"}, nil, nil)

func TestAnAppendWaitsForTheBusAndIsStoredOnce(t *testing.T) {
	for name, setup := range map[string]func(*shaky){
		"the bus is away":    func(s *shaky) { s.back = time.Now().Add(time.Minute) }, // Longer than the lease.
		"the answer is lost": func(s *shaky) { s.deaf = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shaky{}
				l := taken(t, s)
				setup(s)
				if err := l.Append(t.Context(), result); err != nil || len(s.entries) != 2 {
					t.Errorf("%v, %d records", err, len(s.entries))
				}
				if err := l.Renew(t.Context()); err != nil || len(s.entries) != 3 {
					t.Errorf("%v, %d records", err, len(s.entries))
				}
			})
		})
	}
}

func TestAClaimWhoseAnswerIsLostIsFound(t *testing.T) {
	s := &shaky{deaf: true}
	if l := taken(t, s); l.Append(t.Context(), result) != nil || len(s.entries) != 2 {
		t.Errorf("%d records", len(s.entries))
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
		s := &shaky{}
		l := taken(t, s)
		s.add(c.record)
		if err := l.Confirm(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: confirmed with %v", name, err)
		}
		if err := l.Append(t.Context(), result); !errors.Is(err, c.want) || len(s.entries) != 2 {
			t.Errorf("%s: %v, %d records", name, err, len(s.entries))
		}
	}
}

func TestAClaimBehindAJournalThatHasGoneOnIsRefused(t *testing.T) {
	s := &shaky{}
	s.add(run.Closed(0, ""))
	if _, err := lease.Take(t.Context(), s, who("a"), 0, run.Effect{}, hooks()); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
}

func TestARunThatIsLetGoOfCanBeClaimedAtOnce(t *testing.T) {
	s := &shaky{}
	taken(t, s).Release(t.Context())
	if _, a, err := lease.Admit(t.Context(), s, who("b")); err != nil || a.Action != run.Claim || !a.Takeover {
		t.Error(a, err)
	}
}

// one is the journal of one SubJob, which another writer appends to in between.
type one struct {
	*shaky
	between func()
}

func (o *one) Read(ctx context.Context) ([]run.Entry, uint64, error) {
	list, err := o.shaky.Read(ctx, "", "")
	if o.between != nil {
		o.between()
		o.between = nil
	}
	return list, uint64(len(list)), err
}

func (o *one) Append(ctx context.Context, r events.JournalRecord, last uint64) (uint64, error) {
	return o.shaky.Append("", "", r, last).Wait(ctx)
}

func TestAFenceIsPutUpOnceBehindWhateverIsWrittenMeanwhile(t *testing.T) {
	s := &shaky{}
	o := &one{shaky: s, between: func() { s.add(run.Claimed(1, "a", time.Second, 0, run.Effect{})) }}
	for range 2 {
		j, err := lease.Fence(t.Context(), o, 1, "stop")
		if err != nil || !j.Claimed(1) || len(s.entries) != 2 {
			t.Errorf("%v, %d records", err, len(s.entries))
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
				s := &shaky{}
				l := taken(t, s)
				if err := begin(t.Context(), l); err != nil || len(s.entries) > 2 {
					t.Errorf("%v, %d records", err, len(s.entries))
				}
				<-time.After(time.Minute) // The process was stopped.
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
		meanwhile func(*shaky)
		want      error
		records   int
	}{
		"the claim stands":                {func(*shaky) {}, nil, 2},
		"the answer is lost":              {func(s *shaky) { s.deaf = true }, nil, 2},
		"another owner has taken it over": {func(s *shaky) { s.add(run.Claimed(1, "b", time.Second, 0, run.Effect{})) }, errTaken, 2},
		"the run is closed":               {func(s *shaky) { s.add(run.Closed(1, "stop")) }, errOver, 2},
		"the journal stays away":          {func(s *shaky) { s.back = time.Now().Add(time.Hour) }, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shaky{}
				l := taken(t, s)
				c.meanwhile(s)
				began := time.Now()
				for range 2 { // It is stored once.
					if err := l.End(t.Context(), failed); !errors.Is(err, c.want) || len(s.entries) != c.records {
						t.Errorf("%v, %d records", err, len(s.entries))
					}
				}
				if time.Since(began) > 2*time.Second {
					t.Errorf("waited for %s", time.Since(began))
				}
			})
		})
	}
}
