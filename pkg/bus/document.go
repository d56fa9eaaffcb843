package bus

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

const (
	// MaxDocument is the largest document in bytes.
	MaxDocument = 16 << 20
	// MaxDocuments is how many documents a base may have.
	MaxDocuments = 200
)

// The metadata keys of an object that is a document.
const documentName, documentType = "name", "media_type"

// documentPrefix returns the key of a base's documents in the bucket of blobs. No job can have the same name.
func documentPrefix(b bases.Base) string {
	switch b.Scope {
	case bases.Global:
		return "~b~" + events.EscapeID(b.Name)
	case bases.User:
		return "~u~" + events.EscapeID(b.Name)
	default:
		return "~k~" + SessionKey(b.Name)
	}
}

// Documents stores the documents that people add to bases of knowledge, for all jobs that may read them. Where signatures count, a document
// counts if the key that describes it may ask in the name of the base's user, or of the owner of its session; for a global base, in any
// name. In a session without an owner those of all people count. Everyone may store payloads, also as documents of a base.
type Documents struct{ bus *Bus }

// writers returns whose documents of a base count; nil if no signatures count. Errors: ErrUnavailable.
func (d Documents) writers(ctx context.Context, b bases.Base) (func(*seal.Signer) bool, error) {
	if !d.bus.Signed() {
		return nil, nil
	}
	user := ""
	switch b.Scope {
	case bases.User:
		user = b.Name
	case bases.Session:
		owner, err := d.bus.sessionOwner(ctx, b.Name)
		if err != nil || owner == "" {
			return func(who *seal.Signer) bool { return len(who.Rights) > 0 }, err
		}
		user = owner
	}
	return func(who *seal.Signer) bool {
		return slices.Contains(who.Users, seal.Any) || user != "" && slices.Contains(who.Users, user)
	}, nil
}

// blobs returns the documents of a base that count.
func (d Documents) blobs(ctx context.Context, b bases.Base) (Blobs, error) {
	o := d.bus.Blobs()
	may, err := d.writers(ctx, b)
	if err != nil || may == nil {
		return o, err
	}
	since := d.bus.sealing.signers().Since
	o.counts = func(info *blobInfo) error {
		if info.stored.Time.Before(since) {
			return nil
		}
		if who, _, err := d.bus.sealing.signer(&info.stored.Message, info.stored.Time); err != nil || !may(who) {
			return fmt.Errorf("%w: it comes from someone who may not add documents to the base of %s", ErrNotFound, b)
		}
		return nil
	}
	return o, nil
}

// mayPut returns why this process may not add documents to a base. Errors: ErrNotPermitted, ErrUnavailable.
func (d Documents) mayPut(ctx context.Context, b bases.Base) error {
	may, err := d.writers(ctx, b)
	if err != nil || may == nil {
		return err
	}
	if who, ok := d.bus.Self(); !ok || !may(&who) {
		return fmt.Errorf("%w: the key of %s may not add documents to the base of %s", ErrNotPermitted, cmp.Or(who.Name, "this process"), b)
	}
	return nil
}

// Put stores a document of a base under its digest and returns its reference. The same bytes are stored once, under
// their first name. Errors: ErrTooLarge, ErrRefused for an empty document or one too many, the reader's, and those of
// Blobs.PutFrom.
func (d Documents) Put(ctx context.Context, b bases.Base, about events.Ref, r io.ReadSeeker) (events.Ref, error) {
	if !b.Valid() {
		return events.Ref{}, fmt.Errorf("put document: %w: there can be no base %.80q", ErrRefused, b)
	}
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
	if err := d.mayPut(ctx, b); err != nil {
		return events.Ref{}, fmt.Errorf("put document: %w", err)
	}
	blobs, err := d.blobs(ctx, b)
	if err != nil {
		return events.Ref{}, err
	}
	there, err := d.list(ctx, blobs, b)
	if err != nil {
		return events.Ref{}, err
	}
	if len(there) >= MaxDocuments {
		return events.Ref{}, fmt.Errorf("put document: %w: a base has at most %d", ErrRefused, MaxDocuments)
	}
	if err := d.register(ctx, b); err != nil {
		return events.Ref{}, err
	}
	ref, err := blobs.putFrom(ctx, documentPrefix(b), r, map[string]string{documentName: about.Name, documentType: about.MediaType})
	if err != nil {
		return events.Ref{}, fmt.Errorf("put document: %w", err)
	}
	return d.info(ctx, blobs, b, ref.Digest)
}

// List lists the documents of a base, sorted by name. Errors: ErrUnavailable.
func (d Documents) List(ctx context.Context, b bases.Base) ([]events.Ref, error) {
	blobs, err := d.blobs(ctx, b)
	if err != nil {
		return nil, err
	}
	return d.list(ctx, blobs, b)
}

func (d Documents) list(ctx context.Context, blobs Blobs, b bases.Base) ([]events.Ref, error) {
	digests, err := blobs.List(ctx, documentPrefix(b))
	if err != nil {
		return nil, err
	}
	var list []events.Ref
	for _, digest := range digests {
		ref, err := d.info(ctx, blobs, b, digest)
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

func (d Documents) info(ctx context.Context, blobs Blobs, b bases.Base, digest string) (events.Ref, error) {
	info, _, err := blobs.info(ctx, documentPrefix(b), digest)
	if err != nil {
		return events.Ref{}, fmt.Errorf("document %s: %w", digest, err)
	}
	return events.Ref{Digest: digest, Size: info.Size, Name: info.Metadata[documentName], MediaType: info.Metadata[documentType]}, nil
}

// Get reads a document of List. Errors: those of Blobs.Get.
func (d Documents) Get(ctx context.Context, b bases.Base, digest string) ([]byte, error) {
	return d.bus.Blobs().Get(ctx, documentPrefix(b), digest)
}

// Delete removes one document of a base. Errors: ErrNotFound, ErrUnavailable.
func (d Documents) Delete(ctx context.Context, b bases.Base, digest string) error {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) == 0 {
		return fmt.Errorf("delete document %.80q: %w", digest, ErrNotFound)
	}
	blobs, err := d.blobs(ctx, b)
	if err == nil {
		_, err = d.info(ctx, blobs, b, digest)
	}
	if err != nil {
		return err
	}
	if err := d.bus.Streams().Purge(ctx, d.bus.Blobs().stream(), d.bus.Blobs().subject(documentPrefix(b), digest)); err != nil {
		return err
	}
	return d.bus.Streams().Purge(ctx, d.bus.Blobs().stream(), d.bus.Blobs().chunks(documentPrefix(b)+"."+digest+".>"))
}

// baseKey returns the key of a global base in the bucket of memory.
func baseKey(name string) string { return "base." + events.EscapeID(name) }

// register records the name of a global base, so that Bases can list it.
func (d Documents) register(ctx context.Context, b bases.Base) error {
	if b.Scope != bases.Global {
		return nil
	}
	_, revision, err := d.bus.Memory().GetLeader(ctx, baseKey(b.Name))
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	value, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if _, err = d.bus.Memory().Update(ctx, baseKey(b.Name), value, revision); errors.Is(err, ErrConflict) {
		return nil // Another writer has registered it.
	}
	return err
}

// Bases lists the global bases, sorted by name. Errors: ErrUnavailable.
func (d Documents) Bases(ctx context.Context) ([]bases.Base, error) {
	entries, err := d.bus.Memory().Under(ctx, "base")
	if err != nil {
		return nil, err
	}
	var list []bases.Base
	for i := range entries {
		var b bases.Base
		if json.Unmarshal(entries[i].Value, &b) == nil && b.Valid() {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(x, y bases.Base) int { return cmp.Compare(x.Name, y.Name) })
	return list, nil
}

// DeleteAll removes all documents of a base, and its name if it is a global one.
func (d Documents) DeleteAll(ctx context.Context, b bases.Base) error {
	if err := d.bus.Blobs().Delete(ctx, documentPrefix(b)); err != nil || b.Scope != bases.Global {
		return err
	}
	return d.bus.Memory().Delete(ctx, baseKey(b.Name))
}

// digestOf formats a digest as object stores do.
func digestOf(sum []byte) string { return "SHA-256=" + base64.URLEncoding.EncodeToString(sum) }
