package wire

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// Redacted is the ports with the secrets of the process taken out of everything that leaves the runner: facts, journal records, live
// items, payloads and files. What comes in passes as it is.
type Redacted struct {
	Ports
	Blobs
	// Secrets are taken out. Dir is where the copy of a file without them is made; the system's folder for temporary files when empty.
	Secrets *redact.Set
	Dir     string
}

// Append implements lease.Journal.
func (p Redacted) Append(job, subjob string, r events.JournalRecord, last uint64) lease.Pending {
	redactor := p.Secrets.Redactor()
	r.Data, r.Reason = redactor.JSON(r.Data), redactor.Text(r.Reason)
	return p.Ports.Append(job, subjob, r, last)
}

// Once implements loop.Log.
func (p Redacted) Once(e events.Event) (lease.Pending, error) {
	if err := redacted(p.Secrets, &e); err != nil {
		return nil, err
	}
	return p.Ports.Once(e)
}

// State implements loop.Log.
func (p Redacted) State(e events.Event) {
	if redacted(p.Secrets, &e) == nil {
		p.Ports.State(e)
	}
}

// Live implements loop.Log.
func (p Redacted) Live(job, subjob string, body []byte) {
	p.Ports.Live(job, subjob, p.Secrets.Redactor().JSON(body))
}

// redacted takes secrets out of what an event says.
func redacted(secrets *redact.Set, e *events.Event) error {
	redactor := secrets.Redactor()
	if redactor.Empty() || e.Data == nil {
		return nil
	}
	body, err := events.Marshal(e.Data)
	if err == nil {
		e.Data = events.Verbatim(redactor.JSON(body))
	}
	return err
}

// Put implements loop.Blobs.
func (p Redacted) Put(ctx context.Context, job string, data []byte) (events.Ref, error) {
	return p.Blobs.Put(ctx, job, p.Secrets.Redactor().JSON(data))
}

// Store implements loop.Files. A file that holds secrets is copied without them; in one that is no text, what follows a secret
// stays where it is.
func (p Redacted) Store(ctx context.Context, job string, file io.ReadSeeker) (events.Ref, error) {
	redactor := p.Secrets.Redactor()
	if redactor.Empty() {
		return p.Blobs.Store(ctx, job, file)
	}
	start := make([]byte, 8<<10)
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return events.Ref{}, err
	}
	sized := redact.Binary(start[:n])
	found, err := pass(redactor, io.Discard, file, sized)
	if err != nil {
		return events.Ref{}, err
	}
	if found {
		clean, err := os.CreateTemp(p.Dir, "jobgraph-redacted-")
		if err != nil {
			return events.Ref{}, err
		}
		defer clean.Close()
		if err := os.Remove(clean.Name()); err != nil { // It is there as long as it is open, and goes with a runner that is killed.
			return events.Ref{}, err
		}
		if _, err := pass(redactor, clean, file, sized); err != nil {
			return events.Ref{}, err
		}
		file = clean
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return events.Ref{}, err
	}
	return p.Blobs.Store(ctx, job, file)
}

func pass(redactor *redact.Redactor, to io.Writer, file io.ReadSeeker, sized bool) (found bool, err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	return redactor.Copy(to, file, sized)
}
