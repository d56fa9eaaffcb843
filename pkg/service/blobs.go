package service

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Blobs stores payloads and files of jobs, without the secrets of the process.
type Blobs struct {
	bus     *bus.Bus
	secrets *redact.Set
	dir     string
}

// NewBlobs stores payloads in the object store of a bus. It removes secrets from them; nil means none. dir is the folder for copies
// of files without secrets; if it is empty, the system's folder for temporary files.
func NewBlobs(b *bus.Bus, secrets *redact.Set, dir string) Blobs { return Blobs{b, secrets, dir} }

// Put stores a payload under its digest, once.
func (s Blobs) Put(ctx context.Context, job string, data []byte) (events.Ref, error) {
	return s.bus.Blobs().Put(ctx, job, s.secrets.Redactor().JSON(data))
}

// Get returns a payload. Errors: store.ErrNotFound, and those of the bus.
func (s Blobs) Get(ctx context.Context, job, digest string) ([]byte, error) {
	return s.bus.Blobs().Get(ctx, job, digest)
}

// Fetch copies a file to w. Errors: store.ErrNotFound, and those of the bus.
func (s Blobs) Fetch(ctx context.Context, job, digest string, w io.Writer) error {
	return s.bus.Blobs().GetTo(ctx, job, digest, w)
}

// Store stores a file under its digest, once. A file with secrets is copied without them; in a binary file, what follows a secret
// keeps its position. Errors: store.ErrTooLarge for a file that can never be stored, store.ErrConflict for one that changed while
// it was read, and those of the file.
func (s Blobs) Store(ctx context.Context, job string, file io.ReadSeeker) (events.Ref, error) {
	redactor := s.secrets.Redactor()
	if redactor.Empty() {
		return s.bus.Blobs().PutFrom(ctx, job, file)
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
		clean, err := os.CreateTemp(s.dir, "jobgraph-redacted-")
		if err != nil {
			return events.Ref{}, err
		}
		defer clean.Close()
		if err := os.Remove(clean.Name()); err != nil { // It exists as long as it is open, and disappears with a runner that is killed.
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
	return s.bus.Blobs().PutFrom(ctx, job, file)
}

func pass(redactor *redact.Redactor, to io.Writer, file io.ReadSeeker, sized bool) (found bool, err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	return redactor.Copy(to, file, sized)
}
