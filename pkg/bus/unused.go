package bus

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Payloads are stored under the id of a job before its request is sent. They are left over if the request is never sent, or is refused.

// Extent is what is stored under one id.
type Extent struct {
	// Payloads is the number of payloads, whole or not; Bytes is their size.
	Payloads int
	Bytes    int64
	// First and Last are when the oldest and the newest part was stored.
	First, Last time.Time
}

// IDs lists the ids of jobs under which payloads are stored, even in part, sorted. Documents of bases of knowledge are left out. Errors:
// ErrUnavailable.
func (o Blobs) IDs(ctx context.Context) ([]string, error) {
	ids := map[string]bool{}
	for _, filter := range []string{o.chunks(">"), o.descriptions()} {
		subjects, err := o.bus.Streams().Subjects(ctx, o.stream(), filter)
		if err != nil {
			return nil, fmt.Errorf("list payloads: %w", err)
		}
		for subject := range subjects {
			if id := o.owner(subject); events.ValidToken(id) && !strings.HasPrefix(id, "~") {
				ids[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

func (o Blobs) descriptions() string { return "$O." + o.bus.names.Blobs + ".M.*" }

// owner returns the id under which a message of the bucket is stored; "" for the objects of other programs.
func (o Blobs) owner(subject string) string {
	id, digest := nthToken(subject, 3), nthToken(subject, 4)
	if name, ok := strings.CutPrefix(subject, strings.TrimSuffix(o.descriptions(), "*")); ok {
		text, _ := base64.URLEncoding.DecodeString(name) // What cannot be decoded has no owner.
		id, digest, _ = strings.Cut(string(text), "/")
	}
	if len(digest) != len(emptyDigest) {
		return ""
	}
	return id
}

// Extent reads all that is stored under the id of a job. Errors: ErrUnavailable.
func (o Blobs) Extent(ctx context.Context, job string) (Extent, error) {
	digests, err := o.List(ctx, job)
	if err != nil {
		return Extent{}, err
	}
	x := Extent{Payloads: len(digests)}
	seen := func(s Stored) {
		if x.First.IsZero() || s.Time.Before(x.First) {
			x.First = s.Time
		}
		if s.Time.After(x.Last) {
			x.Last = s.Time
		}
	}
	err = o.every(ctx, o.chunks(job+".>"), func(s Stored) { seen(s); x.Bytes += int64(len(s.Body)) })
	if err != nil {
		return x, fmt.Errorf("read payloads of job %s: %w", job, err)
	}
	for _, digest := range append(digests, emptyDigest) {
		described := false
		if err := o.every(ctx, o.subject(job, digest), func(s Stored) { seen(s); described = true }); err != nil {
			return x, fmt.Errorf("read payloads of job %s: %w", job, err)
		}
		if described && digest == emptyDigest {
			x.Payloads++ // It has no chunks.
		}
	}
	return x, nil
}

// every reads all messages of the bucket that match a filter.
func (o Blobs) every(ctx context.Context, filter string, f func(Stored)) error {
	last, err := o.bus.lastOf(ctx, o.stream(), filter)
	if err != nil {
		return err
	}
	return o.bus.each(ctx, o.stream(), filter, 1, last, func(s Stored) bool { f(s); return true })
}

// Any reports whether anything is stored under the id of a job. Errors: ErrUnavailable.
func (o Blobs) Any(ctx context.Context, job string) (bool, error) {
	for _, subject := range []string{o.chunks(job + ".>"), o.subject(job, emptyDigest)} {
		last, err := o.bus.lastOf(ctx, o.stream(), subject)
		if err != nil || last > 0 {
			return last > 0, err
		}
	}
	return false, nil
}

// Unused returns those of some ids that no job, schedule or request has: no event, saved state or schedule has the id, no request that waits in the queue
// or was set aside. Payloads under such an id belong to a request that is yet to be sent, or to none. Errors: ErrUnavailable.
func (r Retention) Unused(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	// A request moves from the queue into the log, or is set aside: in this order it is not missed.
	asked := map[string]bool{}
	for m, err := range r.bus.Log().Requests(ctx) {
		if err != nil {
			return nil, fmt.Errorf("look for requests: %w", err)
		}
		asked[RequestedID(m.Body)] = true
	}
	letters, err := r.bus.DeadLetters().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for requests: %w", err)
	}
	for i := range letters {
		if letters[i].Kind == DeadRequest {
			asked[RequestedID(letters[i].Message.Body)] = true
		}
	}
	var unused []string
	for _, id := range ids {
		if asked[id] {
			continue
		}
		used, err := r.used(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("look for job %s: %w", id, err)
		}
		if !used {
			unused = append(unused, id)
		}
	}
	return unused, nil
}

// used reports whether there is an event, a saved state or a schedule with an id.
func (r Retention) used(ctx context.Context, id string) (bool, error) {
	if err := validJob(id); err != nil {
		return false, err
	}
	schedules := r.bus.Schedules().Names()
	for _, place := range []struct{ stream, subject string }{
		{r.bus.names.Log, r.bus.names.JobEvents(id)}, {schedules.Stream(), schedules.Facts(id)},
	} {
		_, err := r.bus.Streams().LastOn(ctx, place.stream, place.subject)
		if !errors.Is(err, ErrNotFound) {
			return err == nil, err
		}
	}
	_, _, err := r.bus.State().GetLeader(ctx, id)
	return err == nil, ignoreAbsent(err)
}

// PurgeUnused removes the payloads that are stored under an id that nothing has, see Unused. Errors: ErrNotFound if there are none, or
// if the id is in use; ErrNotPermitted, ErrUnavailable.
func (r Retention) PurgeUnused(ctx context.Context, id string) error {
	if err := validJob(id); err != nil {
		return fmt.Errorf("purge payloads: %w", err)
	}
	stored, err := r.bus.Blobs().Any(ctx, id)
	if err != nil {
		return fmt.Errorf("purge payloads of job %s: %w", id, err)
	}
	if !stored {
		return fmt.Errorf("purge payloads of job %s: %w", id, ErrNotFound)
	}
	unused, err := r.Unused(ctx, []string{id})
	if err != nil {
		return err
	}
	if len(unused) == 0 {
		return fmt.Errorf("purge payloads of job %s: %w: they are in use", id, ErrNotFound)
	}
	return r.bus.Blobs().Delete(ctx, id)
}

// PurgeUnbegun removes what is stored of a job that never began: its journals and its payloads. Errors: ErrNotFound if there is nothing to
// remove, and those of PurgeJournals and PurgeUnused.
func (r Retention) PurgeUnbegun(ctx context.Context, job string) error {
	journals := r.PurgeJournals(ctx, job)
	if journals != nil && !errors.Is(journals, ErrNotFound) {
		return journals
	}
	payloads := r.PurgeUnused(ctx, job)
	if errors.Is(payloads, ErrNotFound) {
		return journals
	}
	return payloads
}
