package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Archive moves jobs between buses: as a whole, with journals and blobs.
type Archive struct{ client *Client }

// Export reads a job with its journals, its blobs and its saved state. What a stranger has put between the facts of its log, under a subject
// that is none of the log's, is left out. Errors: ErrNotFound, and those of the bus.
func (a Archive) Export(ctx context.Context, job string, now time.Time) (*Export, error) {
	if err := checkID(job); err != nil {
		return nil, err
	}
	x := &Export{Job: job, Prefix: a.client.Names().Prefix(), Taken: now.UTC(), Blobs: map[string][]byte{}}
	for s, err := range a.client.bus.Log().StoredOf(ctx, job, 0) {
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		if _, ok := a.client.Names().Parse(s.Subject); !ok {
			continue
		}
		x.Records = append(x.Records, Record{Subject: s.Subject, Header: s.Header, Seq: s.Seq, Time: s.Time, Body: s.Body})
	}
	if len(x.Records) == 0 {
		return nil, notFound(job)
	}
	for s, err := range a.client.bus.JournalsOf(ctx, job) {
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		if r := (Record{Subject: s.Subject, Header: s.Header, Seq: s.Seq, Time: s.Time, Body: s.Body}); x.subJobOf(r) != "" {
			x.Journals = append(x.Journals, r)
		}
	}
	digests, err := a.client.bus.Blobs().List(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	for _, digest := range digests {
		if x.Blobs[digest], err = a.client.bus.Blobs().Get(ctx, job, digest); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
	}
	x.State, err = a.client.State(ctx, job)
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		return nil, fmt.Errorf("export: %w", err)
	}
	return x, nil
}

// Import writes a job into this bus under its own id. Its journals come first, and the runs that had ended are closed in them, so
// that nothing finished is executed again; a job that had not ended goes on here, with the calls that its runs have finished: the work
// of runs that were under way is given out again. A job that is there already with the same content is left alone, also when runs that
// nobody claims have ended otherwise here, and gets the blobs that it has lost; with other content, or when it moved while it was
// imported, the error is ErrConflict.
func (a Archive) Import(ctx context.Context, x *Export) error {
	if err := a.admits(ctx, x); err != nil {
		return err
	}
	moving, err := x.moving()
	if err != nil {
		return err
	}
	there, err := a.client.exists(ctx, x.Job)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if there {
		have, err := a.Export(ctx, x.Job, x.Taken)
		if err != nil {
			return err
		}
		if err := have.holds(moving); err != nil {
			return err
		}
		return a.bringBlobs(ctx, x)
	}
	if err := a.bringBlobs(ctx, x); err != nil {
		return err
	}
	if err := a.bringJournals(ctx, x); err != nil {
		return overtaken(x.Job, fmt.Errorf("import: %w", err))
	}
	return a.replay(ctx, moving)
}

// overtaken says what to do when somebody else wrote into a job while it was imported.
func overtaken(job string, err error) error {
	var fault *events.Fault
	if !errors.Is(err, bus.ErrConflict) || errors.As(err, &fault) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
		Code: events.CodeConflict, Field: "job", Message: "job " + job + " moved while it was imported, or is imported twice at once",
		Cause: err.Error(), Hint: "import the file again: that says whether all of it is here",
	})
}

// bringBlobs writes the blobs of an export that are not there.
func (a Archive) bringBlobs(ctx context.Context, x *Export) error {
	for digest, data := range x.Blobs {
		if ref, err := a.client.bus.Blobs().Put(ctx, x.Job, data); err != nil {
			return fmt.Errorf("import blob %s: %w", digest, err)
		} else if ref.Digest != digest {
			return fmt.Errorf("%w: blob %s", ErrExport, digest)
		}
	}
	return nil
}

// holds checks that every record of another export is among these, in the same order. What the scheduler states by itself does not
// count: it may have added to it, or have been faster than an import. Where an import has brought a run that nobody had claimed, another
// end of it is as good: such a run may have been executed here meanwhile, and that end stands.
func (x *Export) holds(other *Export) error {
	mine, theirs := events.NewNames(x.Prefix).Prefix(), events.NewNames(other.Prefix).Prefix()
	at := 0
	for _, r := range other.Records {
		if derived(other, r) {
			continue
		}
		next := at
		for next < len(x.Records) && !x.Records[next].same(mine, r, theirs) {
			next++
		}
		switch {
		case next < len(x.Records):
			at = next + 1
		case !x.again(other, r):
			return x.lacks(r, strings.TrimPrefix(r.Subject, theirs))
		}
	}
	return nil
}

// again reports whether these records tell in their own way what a record of another export tells of a run, and an import has closed
// that run here, which nobody has claimed here or there.
func (x *Export) again(other *Export, r Record) bool {
	if !executed(other, r) || x.on(strings.TrimPrefix(r.Subject, events.NewNames(other.Prefix).Prefix())) == nil {
		return false
	}
	at, _ := events.NewNames(other.Prefix).Parse(r.Subject)
	here, there := run.Read(x.Journal(at.SubJob)), run.Read(other.Journal(at.SubJob))
	return !here.Claimed(at.Run) && !there.Claimed(at.Run) && here.IsClosed(at.Run)
}

// on gives the first record on a subject behind the prefix, nil when there is none.
func (x *Export) on(subject string) *Record {
	prefix := events.NewNames(x.Prefix).Prefix()
	for i := range x.Records {
		if strings.TrimPrefix(x.Records[i].Subject, prefix) == subject {
			return &x.Records[i]
		}
	}
	return nil
}

// lacks says which record of an import these do not have.
func (x *Export) lacks(r Record, subject string) error {
	message := "job " + x.Job + " is here already, and the file's record " + r.Subject + " "
	if x.on(subject) != nil {
		message += "differs from the one in its log: it is another job, or went on otherwise"
	} else {
		message += "is not in its log: the file was made later, or the import before this one was cut off"
	}
	return fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
		Code: events.CodeConflict, Field: "job", Message: message, Hint: "keep the job that is here, or jobgraph delete " + x.Job + " and import the file again",
	})
}

// same compares subjects behind their prefixes, and bodies.
func (r Record) same(prefix string, other Record, otherPrefix string) bool {
	return strings.TrimPrefix(r.Subject, prefix) == strings.TrimPrefix(other.Subject, otherPrefix) && bytes.Equal(r.Body, other.Body)
}

// admits checks that the file begins as a job does.
func (a Archive) admits(ctx context.Context, x *Export) error {
	if err := checkID(x.Job); err != nil {
		return err
	}
	if len(x.Records) == 0 {
		return fmt.Errorf("%w: it holds no records", ErrExport)
	}
	for e, err := range x.Events() {
		if err != nil {
			return err
		}
		if e.Kind != events.KindJobRequested {
			return fmt.Errorf("%w: it begins with %s, not with %s", ErrExport, e.Kind, events.KindJobRequested)
		}
		break
	}
	return ctx.Err()
}

// replay publishes the records in order, each on its subject under this bus's prefix.
func (a Archive) replay(ctx context.Context, x *Export) error {
	seen := map[string]bool{}
	acks := make([]bus.Ack, 0, len(x.Records))
	for _, r := range x.Records {
		m := r.On(a.client.Names().Prefix())
		expect := bus.Expect{}
		if at, _ := a.client.Names().Parse(m.Subject); !seen[m.Subject] && at.Kind != events.KindSubJobProgressed { // A run that goes on may have told some here.
			expect, seen[m.Subject] = bus.ExpectNone(), true
		}
		acks = append(acks, a.client.bus.PublishAsync(m, expect))
	}
	var errs []error
	for i, ack := range acks {
		_, err := ack.Wait(ctx)
		if errors.Is(err, bus.ErrConflict) && (derived(x, x.Records[i]) || executed(x, x.Records[i])) {
			continue // Those who read along were faster: what they state of the same events, and of a pure run, is there already.
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("import record %d (%s): %w", i+1, x.Records[i].Subject, err))
		}
	}
	return overtaken(x.Job, errors.Join(errs...))
}

// derived reports whether a record is a fact that the scheduler states by itself when it folds the ones before it.
func derived(x *Export, r Record) bool {
	at, ok := events.NewNames(x.Prefix).Parse(r.Subject)
	if !ok || at.Control {
		return false
	}
	switch at.Kind {
	case events.KindJobFinished, events.KindJobFailed, events.KindJobStopped, events.KindSubJobClosed:
		return true
	case events.KindSubJobStarted, events.KindSubJobProgressed:
		return false
	}
	d, _ := events.Define(at.Kind)
	return d.Skippable
}

// executed reports whether a record is of a run as its worker tells it: that it began, or how it ended. That of a run which was claimed
// stands behind a journal in which the run is closed; a pure one may be executed here again while its job comes in, and what is stored
// first counts.
func executed(x *Export, r Record) bool {
	at, ok := events.NewNames(x.Prefix).Parse(r.Subject)
	d, known := events.Define(at.Kind)
	return ok && known && d.Run && at.Kind != events.KindSubJobProgressed
}

// On is the record as a message under another prefix: headers of the envelope are kept, those that told the broker of the
// first publish what to do are left out.
func (r Record) On(prefix string) events.Message {
	_, rest, _ := strings.Cut(r.Subject, ".")
	m := events.Message{Subject: prefix + "." + rest, Body: r.Body, Header: map[string][]string{}}
	for name, values := range r.Header {
		if !strings.HasPrefix(strings.ToLower(name), "nats-") {
			m.Header[name] = values
		}
	}
	return m
}
