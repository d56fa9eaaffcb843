package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// A description says which chunks hold the bytes of a blob. Everyone who may store payloads can describe any blob, even falsely, before the
// true description is stored, and as often as they like. So a description counts only if its bytes have the digest, and a writer that finds
// only false ones adds a true one. Where signatures count, the descriptions of each signer are tried in turn: false ones of one signer,
// however many, do not delay the true one of another by more than one attempt.

// described returns a description of a blob that fits, and its sequence: the first one if it fits, otherwise the first fitting one in the
// order of turns. fits rejects one with ErrNotFound. Errors: ErrNotFound, with the reason of the first description if none fits; those of
// fits; ErrUnavailable.
func (o Blobs) described(ctx context.Context, job, digest string, fits func(info *blobInfo, at uint64) error) (*blobInfo, uint64, error) {
	try := func(from uint64) (*blobInfo, uint64, error) {
		info, at, err := o.next(ctx, job, digest, from)
		if err == nil && o.counts != nil {
			err = o.counts(info)
		}
		if err == nil {
			err = fits(info, at)
		}
		return info, at, err
	}
	info, at, err := try(1)
	if at == 0 || !errors.Is(err, ErrNotFound) {
		return info, at, err
	}
	others, unread := o.inTurn(ctx, job, digest, at+1)
	if unread != nil {
		return nil, 0, unread
	}
	for seq, signed := others.next(); seq > 0; seq, signed = others.next() {
		if sealed, unread := o.sealed(ctx, seq, signed); unread != nil {
			return nil, 0, unread
		} else if !sealed {
			others.back(seq) // It only says that it is signed.
			continue
		}
		other, at, problem := try(seq)
		if problem == nil || at > 0 && !errors.Is(problem, ErrNotFound) {
			return other, at, problem
		}
	}
	return info, at, err
}

// sealed reports whether a description has a signature that counts, if it says so.
func (o Blobs) sealed(ctx context.Context, seq uint64, says bool) (bool, error) {
	if !says {
		return true, nil
	}
	s, err := o.bus.at(ctx, o.stream(), seq)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	who, _, problem := o.bus.sealing.signer(&s.Message, s.Time)
	return problem == nil && who != nil, err
}

// turns are the sequences of descriptions by the keys that they name as those of their signers: next gives the first one of each key, then
// the second one of each, and so on. Those without the key of a signer count as those of one key, "".
type turns struct {
	keys []string
	by   map[string][]uint64
	turn int
}

// next returns the next sequence, 0 at the end; signed is false if it names no key of a signer.
func (t *turns) next() (seq uint64, signed bool) {
	for range t.keys {
		key := t.keys[t.turn%len(t.keys)]
		t.turn++
		if list := t.by[key]; len(list) > 0 {
			t.by[key] = list[1:]
			return list[0], key != ""
		}
	}
	return 0, false
}

// back notes that the last sequence has no valid signature: it is counted among those without a key, and its key gets
// another turn.
func (t *turns) back(seq uint64) {
	t.by[""] = append(t.by[""], seq)
	t.turn--
}

// inTurn returns the descriptions of a blob that exist now, from a sequence on.
func (o Blobs) inTurn(ctx context.Context, job, digest string, from uint64) (*turns, error) {
	last, err := o.bus.lastOf(ctx, o.stream(), o.subject(job, digest))
	if err != nil {
		return nil, err
	}
	t := &turns{by: map[string][]uint64{"": nil}}
	if list := o.bus.sealing.signers(); list != nil {
		for i := range list.Signers {
			t.by[list.Signers[i].Key] = nil
		}
	}
	for key := range t.by { // any order: sorted below.
		t.keys = append(t.keys, key)
	}
	slices.Sort(t.keys)
	return t, o.bus.each(ctx, o.stream(), o.subject(job, digest), from, last, func(s Stored) bool {
		key := seal.Named(&s.Message)
		if _, known := t.by[key]; !known {
			key = ""
		}
		t.by[key] = append(t.by[key], s.Seq)
		return true
	})
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
	info = &blobInfo{stored: s}
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

// only is like info, for a reader that passes bytes on before it knows their digest: among several descriptions it
// returns the sound one.
func (o Blobs) only(ctx context.Context, job, digest string) (*blobInfo, uint64, error) {
	info, at, err := o.info(ctx, job, digest)
	if err != nil {
		return nil, 0, err
	}
	_, err = o.bus.leader(ctx, o.stream(), query{Seq: at + 1, NextFor: o.subject(job, digest)}) // The header of another one could make it look as if there were none.
	switch {
	case errors.Is(err, ErrNotFound):
		return info, at, nil
	case err != nil:
		return nil, 0, err
	}
	return o.sound(ctx, job, digest)
}

// held reports whether a blob is stored, and the sequence of its last description, 0 for none. On a bus with roles it reads the bytes,
// since descriptions may be false there, and counts only chunks that are removed with the job and not before.
func (o Blobs) held(ctx context.Context, job, digest string) (there bool, last uint64, err error) {
	s, err := o.bus.leader(ctx, o.stream(), query{LastFor: o.subject(job, digest)})
	if errors.Is(err, ErrNotFound) {
		return false, 0, nil
	}
	if err != nil || !o.bus.Signed() {
		return err == nil, s.Seq, err
	}
	_, _, err = o.described(ctx, job, digest, func(info *blobInfo, at uint64) error {
		if !strings.HasPrefix(info.NUID, job+"."+digest+".") {
			return fmt.Errorf("%w: it consists of foreign chunks", ErrNotFound)
		}
		return o.writeTo(ctx, info, at, digest, io.Discard)
	})
	if errors.Is(err, ErrNotFound) {
		return false, s.Seq, nil
	}
	return err == nil, s.Seq, err
}

// describe publishes the description that turns the chunks into an object, if last is still the last one. If another writer was
// faster, it removes the chunks, because the same bytes are stored already.
func (o Blobs) describe(ctx context.Context, job string, ref events.Ref, last uint64, chunks []uint64, info blobInfo) error {
	info.Name, info.Bucket, info.Size, info.ModTime = job+"/"+ref.Digest, o.bus.names.Blobs, ref.Size, time.Now().UTC()
	info.Options, info.Chunks = map[string]uint32{"max_chunk_size": chunkSize}, uint32(len(chunks))
	if info.Metadata = maps.Clone(info.Metadata); len(chunks) > 0 {
		if info.Metadata == nil {
			info.Metadata = map[string]string{}
		}
		info.Metadata[chunkList] = ranges(chunks)
	}
	body, err := json.Marshal(info)
	if err != nil {
		return err
	}
	m := events.Message{Subject: o.subject(job, ref.Digest), Body: body}
	_, err = o.bus.Publish(ctx, m, ExpectLast(last))
	if !errors.Is(err, ErrConflict) {
		return err
	}
	there, _, err := o.held(ctx, job, ref.Digest)
	switch {
	case err != nil:
		return err
	case there:
		return o.drop(ctx, info.NUID)
	}
	_, err = o.bus.Publish(ctx, m, Expect{}) // Others may describe it falsely at the same time, so this need not be the next description.
	return err
}
