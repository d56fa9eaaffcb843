package bus

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	// MaxDocument is the largest document in bytes.
	MaxDocument = 16 << 20
	// MaxDocuments is how many documents a session may have.
	MaxDocuments = 200
)

// The metadata keys of an object that is a document.
const documentName, documentType = "name", "media_type"

// documentPrefix is the key of a session's documents in the bucket of blobs. No job can have the same name.
func documentPrefix(session string) string { return "~k~" + SessionKey(session) }

// Documents stores the documents that people add to a session, for all of its jobs.
type Documents struct{ bus *Bus }

// Put stores a document of a session under its digest and returns its reference. The same bytes are stored once, under
// their first name. Errors: ErrTooLarge, ErrRefused for an empty document or one too many, the reader's, and those of
// Blobs.PutFrom.
func (d Documents) Put(ctx context.Context, session string, about events.Ref, r io.ReadSeeker) (events.Ref, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	switch {
	case err != nil:
		return events.Ref{}, fmt.Errorf("put document: %w", err)
	case size > MaxDocument:
		return events.Ref{}, fmt.Errorf("put document: %w: at most %d bytes", ErrTooLarge, MaxDocument)
	case size == 0:
		return events.Ref{}, fmt.Errorf("put document: %w: it is empty", ErrRefused)
	}
	there, err := d.List(ctx, session)
	if err != nil {
		return events.Ref{}, err
	}
	if len(there) >= MaxDocuments {
		return events.Ref{}, fmt.Errorf("put document: %w: a session has at most %d", ErrRefused, MaxDocuments)
	}
	ref, err := d.bus.Blobs().putFrom(ctx, documentPrefix(session), r, map[string]string{documentName: about.Name, documentType: about.MediaType})
	if err != nil {
		return events.Ref{}, fmt.Errorf("put document: %w", err)
	}
	return d.info(ctx, session, ref.Digest)
}

// List lists the documents of a session, sorted by name. Errors: ErrUnavailable.
func (d Documents) List(ctx context.Context, session string) ([]events.Ref, error) {
	digests, err := d.bus.Blobs().List(ctx, documentPrefix(session))
	if err != nil {
		return nil, err
	}
	var list []events.Ref
	for _, digest := range digests {
		ref, err := d.info(ctx, session, digest)
		switch {
		case errors.Is(err, ErrNotFound): // It is being stored or removed right now.
		case err != nil:
			return nil, err
		default:
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, func(x, y events.Ref) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Digest, y.Digest)) })
	return list, nil
}

func (d Documents) info(ctx context.Context, session, digest string) (events.Ref, error) {
	info, _, err := d.bus.Blobs().info(ctx, documentPrefix(session), digest)
	if err != nil {
		return events.Ref{}, fmt.Errorf("document %s: %w", digest, err)
	}
	return events.Ref{Digest: digest, Size: info.Size, Name: info.Metadata[documentName], MediaType: info.Metadata[documentType]}, nil
}

// Get reads a document. Errors: those of Blobs.Get.
func (d Documents) Get(ctx context.Context, session, digest string) ([]byte, error) {
	return d.bus.Blobs().Get(ctx, documentPrefix(session), digest)
}

// Delete removes one document of a session. Errors: ErrNotFound, ErrUnavailable.
func (d Documents) Delete(ctx context.Context, session, digest string) error {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) == 0 {
		return fmt.Errorf("delete document %.80q: %w", digest, ErrNotFound)
	}
	if _, err := d.info(ctx, session, digest); err != nil {
		return err
	}
	if err := d.bus.Streams().Purge(ctx, d.bus.Blobs().stream(), d.bus.Blobs().subject(documentPrefix(session), digest)); err != nil {
		return err
	}
	return d.bus.Streams().Purge(ctx, d.bus.Blobs().stream(), d.bus.Blobs().chunks(documentPrefix(session)+"."+digest+".>"))
}

// DeleteAll removes all documents of a session.
func (d Documents) DeleteAll(ctx context.Context, session string) error {
	return d.bus.Blobs().Delete(ctx, documentPrefix(session))
}

// digestOf formats a digest as object stores do.
func digestOf(sum []byte) string { return "SHA-256=" + base64.URLEncoding.EncodeToString(sum) }
