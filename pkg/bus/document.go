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
	// MaxDocument is the largest document of a session, in bytes.
	MaxDocument = 16 << 20
	// MaxDocuments is how many a session may have.
	MaxDocuments = 200
)

// The metadata of an object that is a document.
const documentName, documentType = "name", "media_type"

// shelf is the name under which the documents of a session lie among the blobs. No job can have it.
func shelf(session string) string { return "~k~" + SessionKey(session) }

// PutDocument stores a document for a session under its digest and says how it is kept: the same bytes are stored once, under their
// first name. Errors: ErrTooLarge, ErrRefused for an empty one or one too many, the reader's, and those of PutBlobFrom.
func (b *Bus) PutDocument(ctx context.Context, session string, about events.Ref, r io.ReadSeeker) (events.Ref, error) {
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
	there, err := b.Documents(ctx, session)
	if err != nil {
		return events.Ref{}, err
	}
	if len(there) >= MaxDocuments {
		return events.Ref{}, fmt.Errorf("put document: %w: a session has at most %d", ErrRefused, MaxDocuments)
	}
	ref, err := b.putBlobFrom(ctx, shelf(session), r, map[string]string{documentName: about.Name, documentType: about.MediaType})
	if err != nil {
		return events.Ref{}, fmt.Errorf("put document: %w", err)
	}
	return b.document(ctx, session, ref.Digest)
}

// Documents lists the documents of a session by name. Errors: ErrUnavailable.
func (b *Bus) Documents(ctx context.Context, session string) ([]events.Ref, error) {
	digests, err := b.Blobs(ctx, shelf(session))
	if err != nil {
		return nil, err
	}
	var list []events.Ref
	for _, digest := range digests {
		ref, err := b.document(ctx, session, digest)
		switch {
		case errors.Is(err, ErrNotFound): // Only half there: it is being stored, or removed.
		case err != nil:
			return nil, err
		default:
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, func(x, y events.Ref) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Digest, y.Digest)) })
	return list, nil
}

func (b *Bus) document(ctx context.Context, session, digest string) (events.Ref, error) {
	info, _, err := b.blob(ctx, shelf(session), digest)
	if err != nil {
		return events.Ref{}, fmt.Errorf("document %s: %w", digest, err)
	}
	return events.Ref{Digest: digest, Size: info.Size, Name: info.Metadata[documentName], MediaType: info.Metadata[documentType]}, nil
}

// GetDocument reads a document. Errors: those of GetBlob.
func (b *Bus) GetDocument(ctx context.Context, session, digest string) ([]byte, error) {
	return b.GetBlob(ctx, shelf(session), digest)
}

// DeleteDocument removes one document of a session. Errors: ErrNotFound, ErrUnavailable.
func (b *Bus) DeleteDocument(ctx context.Context, session, digest string) error {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) == 0 {
		return fmt.Errorf("delete document %.80q: %w", digest, ErrNotFound)
	}
	if _, err := b.document(ctx, session, digest); err != nil {
		return err
	}
	if err := b.Purge(ctx, b.blobStream(), b.blobSubject(shelf(session), digest)); err != nil {
		return err
	}
	return b.Purge(ctx, b.blobStream(), b.chunks(shelf(session)+"."+digest+".>"))
}

// DeleteDocuments removes all documents of a session.
func (b *Bus) DeleteDocuments(ctx context.Context, session string) error {
	return b.DeleteBlobs(ctx, shelf(session))
}

// digestOf is a digest as object stores write it.
func digestOf(sum []byte) string { return "SHA-256=" + base64.URLEncoding.EncodeToString(sum) }
