package bus

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	// InlineLimit is the size in bytes above which a payload travels by reference.
	InlineLimit = 64 << 10
	// MaxBlob is the largest blob, in bytes.
	MaxBlob = 1 << 30
	// chunkSize is the chunk size of all NATS clients.
	chunkSize = 128 << 10
	// emptyDigest is the SHA-256 of a blob without bytes, which has no chunks.
	emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// blobInfo describes an object in the format of all NATS clients.
type blobInfo struct {
	Name    string            `json:"name"`
	Options map[string]uint32 `json:"options"`
	Bucket  string            `json:"bucket"`
	NUID    string            `json:"nuid"`
	Size    int64             `json:"size"`
	ModTime time.Time         `json:"mtime"`
	Chunks  uint32            `json:"chunks"`
	Digest  string            `json:"digest"`
	Deleted bool              `json:"deleted,omitempty"`
	// Metadata lists the chunks, see chunkList, and describes a document.
	Metadata map[string]string `json:"metadata,omitempty"`
	// stored is the message that was read.
	stored Stored
}

// Blobs stores payloads of jobs that are too large for a message. The digest is the key within a job.
type Blobs struct {
	bus *Bus
	// counts rejects with ErrNotFound what must not count as a description; nil rejects nothing.
	counts func(*blobInfo) error
}

func (o Blobs) stream() string { return "OBJ_" + o.bus.names.Blobs }

func (o Blobs) chunks(nuid string) string { return "$O." + o.bus.names.Blobs + ".C." + nuid }

func (o Blobs) subject(job, digest string) string {
	return "$O." + o.bus.names.Blobs + ".M." + base64.URLEncoding.EncodeToString([]byte(job+"/"+digest))
}

// Of returns a reader of payloads that the log of one job refers to. Errors: ErrNotFound with a fault that names the
// payload, and those of Get.
func (o Blobs) Of(ctx context.Context, job string) func(ref events.Ref) ([]byte, error) {
	return func(ref events.Ref) ([]byte, error) {
		data, err := o.Get(ctx, job, ref.Digest)
		if errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{
				Code: events.CodeMissingBlob, Message: fmt.Sprintf("a payload of job %s is gone", job), RawRef: &ref, Cause: err.Error(),
			})
		}
		return data, err
	}
}

// Put stores bytes under their digest within one job, unless they are already stored. When it returns, an event may refer
// to them. Errors: those of Publish.
func (o Blobs) Put(ctx context.Context, job string, data []byte) (events.Ref, error) {
	sum := sha256.Sum256(data)
	ref := events.Ref{Digest: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	if err := validJob(job); err != nil {
		return ref, fmt.Errorf("put blob: %w", err)
	}
	// The chunks' subject begins with job and digest, so that a job's blobs can be found and purged by subject. The last
	// token separates two writers of the same bytes; it cannot be predicted.
	id := job + "." + ref.Digest + "." + rand.Text()
	err := o.put(ctx, job, ref, id, data)
	if err != nil {
		return ref, fmt.Errorf("put blob %s: %w", ref.Digest, err)
	}
	return ref, nil
}

// put stores a blob. If it consists of a single chunk that can be removed again, it sends the chunk together with the query whether the
// blob exists, since waiting for the answer would take longer than sending an unneeded chunk.
func (o Blobs) put(ctx context.Context, job string, ref events.Ref, id string, data []byte) error {
	var acks []Ack
	if len(data) <= chunkSize && !o.bus.Signed() && !o.bus.denials.known(o.stream()) {
		acks = o.sendChunks(id, data)
	}
	there, last, err := o.held(ctx, job, ref.Digest)
	switch {
	case err != nil:
		return err
	case there && len(acks) > 0:
		if _, err := stored(ctx, acks); err != nil {
			return err
		}
		return o.drop(ctx, id)
	case there:
		return nil
	}
	if len(acks) == 0 {
		acks = o.sendChunks(id, data)
	}
	chunks, err := stored(ctx, acks)
	if err != nil {
		return err
	}
	digest, err := hex.DecodeString(ref.Digest)
	if err != nil {
		return err
	}
	return o.describe(ctx, job, ref, last, chunks, blobInfo{NUID: id, Digest: digestOf(digest)})
}

func (o Blobs) sendChunks(id string, data []byte) []Ack {
	var acks []Ack
	for start := 0; start < len(data); start += chunkSize {
		chunk := data[start:min(start+chunkSize, len(data))]
		acks = append(acks, o.bus.PublishAsync(events.Message{Subject: o.chunks(id), Body: chunk}, Expect{}))
	}
	return acks
}

// stored waits for chunks and returns their sequences.
func stored(ctx context.Context, acks []Ack) (seqs []uint64, err error) {
	seqs = make([]uint64, len(acks))
	for i, ack := range acks {
		if seqs[i], err = ack.Wait(ctx); err != nil {
			return nil, err
		}
	}
	return seqs, nil
}

// drop removes chunks to which no description refers. A process that may not remove anything leaves them; they are removed with the job.
// Where signatures count, all chunks are left as well: anyone may have described them truthfully, and other writers of the same bytes
// may have found them stored.
func (o Blobs) drop(ctx context.Context, id string) error {
	if o.bus.Signed() {
		return nil
	}
	err := o.bus.Streams().Purge(ctx, o.stream(), o.chunks(id))
	if errors.Is(err, ErrNotPermitted) {
		o.bus.denials.note(o.stream())
		return nil
	}
	return err
}

// Get reads a blob and checks its digest. Errors: ErrNotFound, even if there are bytes that do not match the
// digest, and ErrUnavailable.
func (o Blobs) Get(ctx context.Context, job, digest string) ([]byte, error) {
	data, err := o.get(ctx, job, digest)
	if err != nil {
		return nil, fmt.Errorf("get blob %s of job %s: %w", digest, job, err)
	}
	return data, nil
}

func (o Blobs) get(ctx context.Context, job, digest string) (data []byte, err error) {
	_, _, err = o.described(ctx, job, digest, func(info *blobInfo, at uint64) (err error) {
		data, err = o.content(ctx, info, at)
		if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) != digest {
			err = fmt.Errorf("%w: its bytes do not have this digest", ErrNotFound)
		}
		return err
	})
	return data, err
}

// content joins the chunks of a blob, which are stored before its description.
func (o Blobs) content(ctx context.Context, info *blobInfo, before uint64) ([]byte, error) {
	if _, listed := info.Metadata[chunkList]; info.Chunks == 1 && !listed {
		chunk, err := o.bus.direct(ctx, o.stream(), query{Seq: 1, NextFor: o.chunks(info.NUID)})
		if err == nil {
			return chunk.Body, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return nil, err
		} // The replica is behind; ask the leader below.
	}
	data := bytes.NewBuffer(make([]byte, 0, min(info.Size, 8<<20)))
	if info.Size == 0 {
		return nil, nil
	}
	err := o.pieces(ctx, info, before, func(chunk []byte) bool {
		data.Write(chunk)
		return int64(data.Len()) < info.Size
	})
	return data.Bytes(), err
}

// List lists the digests of a job's blobs. Errors: ErrUnavailable.
func (o Blobs) List(ctx context.Context, job string) ([]string, error) {
	if err := validJob(job); err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	subjects, err := o.bus.Streams().Subjects(ctx, o.stream(), o.chunks(job+".>"))
	if err != nil {
		return nil, fmt.Errorf("list blobs of job %s: %w", job, err)
	}
	seen := map[string]bool{}
	var digests []string
	for subject := range subjects {
		digest := nthToken(subject, 4)
		if digest != "" && !seen[digest] {
			seen[digest] = true
			digests = append(digests, digest)
		}
	}
	return sorted(digests), nil
}

// Delete removes all blobs of a job.
func (o Blobs) Delete(ctx context.Context, job string) error {
	digests, err := o.List(ctx, job)
	if err != nil {
		return fmt.Errorf("delete blobs: %w", err)
	}
	for _, digest := range append(digests, emptyDigest) {
		if err := o.bus.Streams().Purge(ctx, o.stream(), o.subject(job, digest)); err != nil {
			return err
		}
	}
	return o.bus.Streams().Purge(ctx, o.stream(), o.chunks(job+".>"))
}
