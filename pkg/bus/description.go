package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// A description says which chunks are the bytes of a blob. Everyone who may store payloads can describe any of them, also falsely and
// before the true description is stored. So the first description whose bytes have the digest counts, and a writer who finds only false
// ones adds a true one.

// describeTries limits the attempts to store a description while others describe the same blob.
const describeTries = 16

// described returns the first description of a blob that fits, and its sequence; fits rejects one with ErrNotFound. Errors: ErrNotFound,
// with the reason of the first description if none fits; those of fits; ErrUnavailable.
func (o Blobs) described(ctx context.Context, job, digest string, fits func(info *blobInfo, at uint64) error) (*blobInfo, uint64, error) {
	var first error
	for after := uint64(1); ; {
		info, at, err := o.next(ctx, job, digest, after)
		if at == 0 {
			if first != nil && errors.Is(err, ErrNotFound) {
				err = first
			}
			return nil, 0, err
		}
		if err == nil {
			err = fits(info, at)
		}
		if err == nil || !errors.Is(err, ErrNotFound) {
			return info, at, err
		}
		if after = at + 1; first == nil {
			first = err
		}
	}
}

// next reads the next description from a sequence on. at is 0 if there is none.
func (o Blobs) next(ctx context.Context, job, digest string, from uint64) (info *blobInfo, at uint64, err error) {
	q := query{Seq: from, NextFor: o.subject(job, digest)}
	s, err := o.bus.direct(ctx, o.stream(), q)
	if err != nil {
		s, err = o.bus.leader(ctx, o.stream(), q)
	}
	if err != nil {
		return nil, 0, err
	}
	info = &blobInfo{}
	if err := json.Unmarshal(s.Body, info); err != nil || info.Deleted || info.Size < 0 || info.Size > MaxBlob || !literal(info.NUID) {
		return nil, s.Seq, fmt.Errorf("%w: it was deleted or has no valid description", ErrNotFound)
	}
	return info, s.Seq, nil
}

// literal reports whether a text is a part of a subject without wildcards.
func literal(text string) bool {
	for token := range strings.SplitSeq(text, ".") {
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' || r == '*' || r == '>' }) {
			return false
		}
	}
	return true
}

// info returns the first valid description of a blob and its sequence, without checking its bytes.
func (o Blobs) info(ctx context.Context, job, digest string) (*blobInfo, uint64, error) {
	return o.described(ctx, job, digest, func(*blobInfo, uint64) error { return nil })
}

// sound returns the first description whose bytes have the digest, and its sequence. It reads the bytes.
func (o Blobs) sound(ctx context.Context, job, digest string) (*blobInfo, uint64, error) {
	return o.described(ctx, job, digest, func(info *blobInfo, at uint64) error { return o.writeTo(ctx, info, at, digest, io.Discard) })
}

// only is info for a reader that passes bytes on before it knows their digest: among several descriptions it returns the sound one.
func (o Blobs) only(ctx context.Context, job, digest string) (*blobInfo, uint64, error) {
	info, at, err := o.info(ctx, job, digest)
	if err != nil {
		return nil, 0, err
	}
	_, err = o.bus.direct(ctx, o.stream(), query{Seq: at + 1, NextFor: o.subject(job, digest)})
	switch {
	case errors.Is(err, ErrNotFound):
		return info, at, nil
	case err != nil:
		return nil, 0, err
	}
	return o.sound(ctx, job, digest)
}

// held reports whether a blob is stored, and the sequence of its last description, 0 for none. On a bus with roles it reads the bytes,
// since descriptions may be false there.
func (o Blobs) held(ctx context.Context, job, digest string) (there bool, last uint64, err error) {
	s, err := o.bus.leader(ctx, o.stream(), query{LastFor: o.subject(job, digest)})
	if errors.Is(err, ErrNotFound) {
		return false, 0, nil
	}
	if err != nil || !o.bus.Signed() {
		return err == nil, s.Seq, err
	}
	_, _, err = o.sound(ctx, job, digest)
	if errors.Is(err, ErrNotFound) {
		return false, s.Seq, nil
	}
	return err == nil, s.Seq, err
}

// describe publishes the description that turns the chunks into an object, if last is still the last one. If another writer was
// faster, it removes the chunks, because the same bytes are stored already.
func (o Blobs) describe(ctx context.Context, job string, ref events.Ref, last uint64, info blobInfo) error {
	info.Name, info.Bucket, info.Size, info.ModTime = job+"/"+ref.Digest, o.bus.names.Blobs, ref.Size, time.Now().UTC()
	info.Options = map[string]uint32{"max_chunk_size": chunkSize}
	body, err := json.Marshal(info)
	if err != nil {
		return err
	}
	for range describeTries {
		_, err = o.bus.Publish(ctx, events.Message{Subject: o.subject(job, ref.Digest), Body: body}, ExpectLast(last))
		if !errors.Is(err, ErrConflict) {
			return err
		}
		var there bool
		if there, last, err = o.held(ctx, job, ref.Digest); err != nil {
			return err
		}
		if there {
			return o.drop(ctx, info.NUID)
		}
	}
	return fmt.Errorf("%w: others describe it at the same time", ErrUnavailable)
}
