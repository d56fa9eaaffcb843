package recurring

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/recur"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Info is a schedule for display: its state and its next runs.
type Info struct {
	schedule.State
	// Upcoming are the next times.
	Upcoming []time.Time `json:"upcoming,omitempty"`
	// Duplicate is true for the answer to a repeated creation.
	Duplicate bool `json:"duplicate,omitempty"`
	// Asks are the questions to people for which runs wait; the caller fills them in.
	Asks []verb.Question `json:"asks,omitempty"`
}

// upcoming is how many of the next times are shown; tries is how often a fact is tried again because others publish facts of the same
// schedule.
const (
	upcoming = 3
	tries    = 5
)

// lookAgain is the wait for facts that may have been removed before they were read.
const lookAgain = 500 * time.Millisecond

// await waits until every fact published so far has been applied.
func (k *Keeper) await(ctx context.Context) error {
	for {
		last, err := k.Bus.Last(ctx)
		if err != nil {
			return fmt.Errorf("read schedules: %w", err)
		}
		k.mu.Lock()
		there, news := k.whole && k.seq >= last, k.news
		k.mu.Unlock()
		if there {
			return nil
		}
		again := time.NewTimer(lookAgain)
		select {
		case <-ctx.Done():
			err = fmt.Errorf("%w: schedules are still being read", bus.ErrUnavailable)
		case <-news:
		case <-again.C:
		}
		again.Stop()
		if err != nil {
			return err
		}
	}
}

// Get returns a schedule with all facts published so far. Errors: a fault if there is none, and the bus's.
func (k *Keeper) Get(ctx context.Context, id string) (*Info, error) {
	if err := k.await(ctx); err != nil {
		return nil, err
	}
	s := k.copy(id)
	if s == nil {
		return nil, &events.Fault{Code: events.CodeNotFound, Field: "id", Message: fmt.Sprintf("there is no schedule %.80q", id), Hint: "jobgraph schedule list"}
	}
	return s, nil
}

// List returns all schedules by their ids.
func (k *Keeper) List(ctx context.Context) ([]*Info, error) {
	if err := k.await(ctx); err != nil {
		return nil, err
	}
	k.mu.Lock()
	ids := make([]string, 0, len(k.plans))
	for id := range k.plans {
		ids = append(ids, id)
	}
	k.mu.Unlock()
	slices.Sort(ids)
	list := []*Info{}
	for _, id := range ids {
		if s := k.copy(id); s != nil {
			list = append(list, s)
		}
	}
	return list, nil
}

// copy returns a copy of a schedule; nil if there is none, or if it is deleted.
func (k *Keeper) copy(id string) *Info {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.plans[id]
	if p == nil || p.Status == schedule.Gone {
		return nil
	}
	s := &Info{State: p.State, Upcoming: p.Preview(upcoming)}
	s.Recent = slices.Clone(p.Recent)
	return s
}

// Create makes a schedule, once: a repeat returns the existing one. events.Faults hold everything that is wrong, including the
// given ones.
func (k *Keeper) Create(ctx context.Context, id string, c schedule.Creation, trace string, found ...events.Fault) (*Info, error) {
	if faults := append(events.Faults(found), k.check(id, &c)...); len(faults) > 0 {
		return nil, faults
	}
	f := schedule.Fact{
		Kind: schedule.Created, ID: id, Name: id + "/" + string(schedule.Created) + "/" + rand.Text(), Source: source, Trace: trace, Data: &c,
	}
	for range tries {
		if err := k.await(ctx); err != nil {
			return nil, err
		}
		if s := k.copy(id); s != nil {
			return s, s.same(&c)
		}
		last := k.last(id)
		_, err := k.Bus.State(ctx, f, bus.Expect{Last: &last, Subject: k.Bus.Names().Facts(id)})
		if err == nil {
			return k.Get(ctx, id)
		}
		if !errors.Is(err, bus.ErrConflict) {
			return nil, fmt.Errorf("create schedule: %w", err)
		}
	}
	return nil, fmt.Errorf("%w: others change schedule %s at the same time", bus.ErrUnavailable, id)
}

// Make is Create for a schedule without further checks.
func (k *Keeper) Make(ctx context.Context, id string, s schedule.Spec, trace string) (made bool, err error) {
	there, err := k.Create(ctx, id, schedule.Creation{Spec: s}, trace)
	return err == nil && !there.Duplicate, err
}

// last is the sequence of the last known fact of a schedule, whether the schedule exists or not.
func (k *Keeper) last(id string) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.plans[id]; p != nil {
		return p.Seq
	}
	return k.orphans[id]
}

func (s *Info) same(c *schedule.Creation) error {
	if s.Digest == c.Digest {
		s.Duplicate = true
		return nil
	}
	return events.Faults{{
		Code: events.CodeConflict, Field: "id", Message: "schedule " + s.ID + " exists with other content",
		Hint: "choose another id, or delete that one first: jobgraph schedule delete " + s.ID,
	}}
}

// maxCreated bounds a creation: the stored schedule has to fit a message together with its runs.
const maxCreated = events.MaxMessage / 2

// check completes a creation and reports all that is wrong with it.
func (k *Keeper) check(id string, c *schedule.Creation) events.Faults {
	var faults events.Faults
	if !schedule.ValidID(id) || !events.ValidNewID(id) {
		faults = append(faults, events.Fault{
			Code: events.CodeInvalid, Field: "id", Message: fmt.Sprintf("id %.80q does not fit", id),
			Hint: fmt.Sprintf("use 1 to %d of A-Z a-z 0-9 _ -, not dashes alone", schedule.MaxID),
		})
	}
	now := time.Now().UTC()
	rule, wrong := moment.NewRule(&c.When, now, k.Zones)
	if len(wrong) == 0 {
		wrong = rule.Ahead(now)
	}
	if len(wrong) == 0 && !c.Until.IsZero() && rule.Next(now).After(c.Until) {
		wrong = events.Faults{{Code: events.CodeInvalid, Field: "until", Message: "it ends before its first run", Hint: "choose a later end"}}
	}
	faults = append(append(faults, wrong...), c.Validate()...)
	body, err := json.Marshal(&c.Spec)
	if err != nil || len(body) > maxCreated {
		faults = append(faults, events.Fault{
			Code: events.CodeTooLarge, Field: "request", Message: fmt.Sprintf("the schedule has %d bytes, at most %d are kept", len(body), maxCreated),
			Hint: "shorten the request, or store what is large where the experts can read it",
		})
	}
	sum := sha256.Sum256(body)
	c.Digest = hex.EncodeToString(sum[:]) // Made before Unattend, as earlier releases did: a repeated request finds their schedules.
	recur.Unattend(&c.Request)
	return faults
}

// Tell publishes a person's command to a schedule. A command that would change nothing is a conflict.
func (k *Keeper) Tell(ctx context.Context, id string, kind events.Kind, w schedule.Word) (*Info, error) {
	f := schedule.Fact{Kind: kind, ID: id, Name: id + "/" + string(kind) + "/" + rand.Text(), Source: source, Data: &w}
	for range tries {
		s, err := k.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := s.admits(kind); err != nil {
			return s, err
		}
		last := s.Seq
		_, err = k.Bus.State(ctx, f, bus.Expect{Last: &last, Subject: k.Bus.Names().Facts(id)})
		if errors.Is(err, bus.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("tell schedule: %w", err)
		}
		if kind == schedule.Deleted {
			s.Status, s.Next, s.Upcoming = schedule.Gone, time.Time{}, nil
			return s, nil
		}
		return k.Get(ctx, id)
	}
	return nil, fmt.Errorf("%w: others change schedule %s at the same time", bus.ErrUnavailable, id)
}

// admits says why a schedule cannot carry out a command.
func (s *Info) admits(kind events.Kind) error {
	conflict := func(message, hint string) error {
		return &events.Fault{Code: events.CodeConflict, Field: "id", Message: "schedule " + s.ID + " " + message, Hint: hint + " " + s.ID}
	}
	live := slices.ContainsFunc(s.Recent, func(r schedule.Run) bool { return !r.Status.Over() })
	switch {
	case s.Blocked != "" && kind != schedule.Deleted:
		return conflict("has a fact that this version does not understand: "+s.Blocked, "upgrade the scheduler, or jobgraph schedule delete")
	case kind == schedule.Paused && s.Status != schedule.Active:
		return conflict("is "+string(s.Status)+" already", "jobgraph schedule get")
	case kind == schedule.Resumed && s.Status != schedule.Rests:
		return conflict("is "+string(s.Status)+", not paused", "jobgraph schedule get")
	case kind == schedule.Triggered && live && s.Overlap == schedule.OverlapSkip:
		return conflict("has a run that goes on, and skips what overlaps", "jobgraph schedule runs")
	}
	return nil
}

// IDFor derives the id of a schedule from a text: the text itself if it is a valid id, otherwise a hash of it.
func IDFor(text string) string {
	if schedule.ValidID(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower("s" + hex.EncodeToString(sum[:16]))
}
