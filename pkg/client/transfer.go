package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/canvas"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Archive moves complete jobs between buses, with journals and blobs.
type Archive struct{ client *Client }

// names reports whether a fact or a record of a journal contains a digest.
func (x *Export) names(digest string) bool {
	in := func(r Record) bool { return bytes.Contains(r.Body, []byte(digest)) }
	return slices.ContainsFunc(x.Records, in) || slices.ContainsFunc(x.Journals, in)
}

// Export reads a job with its journals, blobs and saved state. Foreign messages between the facts of its log are left out.
// Errors: ErrNotFound, and those of the bus.
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
	for r, err := range a.client.Journals().all(ctx, job) {
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		x.Journals = append(x.Journals, r)
	}
	digests, err := a.client.bus.Blobs().List(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	for _, digest := range digests {
		data, err := a.client.bus.Blobs().Get(ctx, job, digest)
		switch {
		case errors.Is(err, bus.ErrNotFound) && !x.names(digest): // Someone has stored something else under this digest.
		case err != nil:
			return nil, fmt.Errorf("export: %w", err)
		default:
			x.Blobs[digest] = data
		}
	}
	x.State, err = a.client.State(ctx, job)
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		return nil, fmt.Errorf("export: %w", err)
	}
	x.Timeline = x.timeline()
	return x, nil
}

// timeline returns the history of the job's graph; nil if the log cannot be folded, which an export is often made to
// find out.
func (x *Export) timeline() json.RawMessage {
	var c canvas.Canvas
	for e, err := range x.Resolved() {
		if err == nil {
			err = c.Take(&e)
		}
		if err != nil {
			return nil
		}
	}
	t := c.Timeline()
	var err error
	t.Calls, err = x.timed(t.Created, func(ref events.Ref) ([]byte, error) { return x.Blobs[ref.Digest], nil })
	if err != nil {
		return nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil
	}
	return text
}

// Import writes a job into this bus under its own id. Its journals come first, and the ended runs are closed in them, so
// that nothing finished is executed again. A job that had not ended continues here with the finished calls of its runs: the
// work of running runs is issued again. If the job already exists with the same content, it is left alone, even if
// unclaimed runs have ended differently here, and missing blobs are restored. If its content differs, or it changed during
// the import, the error is ErrConflict.
func (a Archive) Import(ctx context.Context, x *Export) error {
	if err := a.admits(ctx, x); err != nil {
		return err
	}
	moving, err := x.moving()
	if err != nil {
		return err
	}
	there, err := a.client.Logs().exists(ctx, x.Job)
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

// overtaken returns the error, with advice, for a job that another client changed during the import.
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

// bringBlobs writes the missing blobs of an export.
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

// holds checks that every record of another export is among these, in the same order. Facts that the scheduler derives do
// not count, since it may have added some, or published them before the import. If an import brought an unclaimed run,
// another end of it is accepted: such a run may have been executed here in the meantime, and that end counts.
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

// again reports whether these records contain a fact about the same run as a record of another export, where the run was
// never claimed on either side and the import closed it here.
func (x *Export) again(other *Export, r Record) bool {
	if !executed(other, r) || x.on(strings.TrimPrefix(r.Subject, events.NewNames(other.Prefix).Prefix())) == nil {
		return false
	}
	at, _ := events.NewNames(other.Prefix).Parse(r.Subject)
	here, there := run.Read(x.Journal(at.SubJob)), run.Read(other.Journal(at.SubJob))
	return !here.Claimed(at.Run) && !there.Claimed(at.Run) && here.IsClosed(at.Run)
}

// on returns the first record whose subject after the prefix matches, or nil.
func (x *Export) on(subject string) *Record {
	prefix := events.NewNames(x.Prefix).Prefix()
	for i := range x.Records {
		if strings.TrimPrefix(x.Records[i].Subject, prefix) == subject {
			return &x.Records[i]
		}
	}
	return nil
}

// lacks returns the error that an imported record is missing here.
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

// same compares subjects without their prefixes, and bodies.
func (r Record) same(prefix string, other Record, otherPrefix string) bool {
	return strings.TrimPrefix(r.Subject, prefix) == strings.TrimPrefix(other.Subject, otherPrefix) && bytes.Equal(r.Body, other.Body)
}

// admits checks that the file begins with a job's request.
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
		if at, _ := a.client.Names().Parse(m.Subject); !seen[m.Subject] && at.Kind != events.KindSubJobProgressed { // A run that continues may have published some here.
			expect, seen[m.Subject] = bus.ExpectNone(), true
		}
		acks = append(acks, a.client.bus.PublishAsync(m, expect))
	}
	var errs []error
	for i, ack := range acks {
		_, err := ack.Wait(ctx)
		if errors.Is(err, bus.ErrConflict) && (derived(x, x.Records[i]) || executed(x, x.Records[i])) {
			continue // Services that follow the log were faster: their facts about the same events, or about a pure run, already exist.
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("import record %d (%s): %w", i+1, x.Records[i].Subject, err))
		}
	}
	return overtaken(x.Job, errors.Join(errs...))
}

// derived reports whether the scheduler derives this fact when it folds the earlier ones.
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

// executed reports whether a record is a worker's fact about a run: its start or end. A claimed run is closed in its
// journal; a pure run may be executed here again during the import, and what is stored first counts.
func executed(x *Export, r Record) bool {
	at, ok := events.NewNames(x.Prefix).Parse(r.Subject)
	d, known := events.Define(at.Kind)
	return ok && known && d.Run && at.Kind != events.KindSubJobProgressed
}

// On returns the record as a message under another prefix. It keeps the headers of the envelope and drops those that
// instructed the broker at the first publish.
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
