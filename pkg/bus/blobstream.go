package bus

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// maxUnstored limits the unacknowledged chunks of one blob, and so the memory that a blob of any size takes.
const maxUnstored = 32

// PutFrom is like Put, for blobs that need not fit into memory, of at most MaxBlob bytes. It reads r twice: for the digest
// and, if the blob does not exist yet, to send it. Errors: those of Put and of r, ErrTooLarge, and ErrConflict if the
// second reading returns other bytes.
func (o Blobs) PutFrom(ctx context.Context, job string, r io.ReadSeeker) (events.Ref, error) {
	ref, err := o.putFrom(ctx, job, r, nil)
	if err != nil {
		return events.Ref{}, fmt.Errorf("put blob: %w", err)
	}
	return ref, nil
}

func (o Blobs) putFrom(ctx context.Context, job string, r io.ReadSeeker, about map[string]string) (events.Ref, error) {
	if err := validJob(job); err != nil {
		return events.Ref{}, err
	}
	start, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return events.Ref{}, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, &attended{ctx: ctx, r: io.LimitReader(r, MaxBlob+1)})
	switch {
	case err != nil:
		return events.Ref{}, err
	case size > MaxBlob:
		return events.Ref{}, fmt.Errorf("%w: at most %d bytes", ErrTooLarge, MaxBlob)
	}
	ref := events.Ref{Digest: hex.EncodeToString(sum.Sum(nil)), Size: size}
	there, last, err := o.held(ctx, job, ref.Digest)
	if there || err != nil {
		return ref, err
	}
	if _, err := r.Seek(start, io.SeekStart); err != nil {
		return events.Ref{}, err
	}
	id := job + "." + ref.Digest + "." + rand.Text()
	chunks, err := o.sendFrom(ctx, id, r, ref)
	if err != nil {
		// No description refers to these chunks. If they cannot be removed now, they are removed with the job.
		return events.Ref{}, errors.Join(err, o.drop(context.WithoutCancel(ctx), id))
	}
	return ref, o.describe(ctx, job, ref, last, chunks, blobInfo{NUID: id, Digest: digestOf(sum.Sum(nil)), Metadata: about})
}

// sendFrom stores the chunks of a blob, at most maxUnstored at a time, checks that they match ref, and returns their sequences.
func (o Blobs) sendFrom(ctx context.Context, id string, r io.Reader, ref events.Ref) (chunks []uint64, err error) {
	var acks []Ack
	sum := sha256.New()
	for left := ref.Size; left > 0; {
		chunk := make([]byte, min(left, chunkSize)) // The client keeps the buffer until the chunk is stored.
		if _, err := io.ReadFull(r, chunk); err != nil {
			_, unstored := stored(ctx, acks)
			return nil, errors.Join(err, unstored)
		}
		sum.Write(chunk)
		left -= int64(len(chunk))
		if len(acks) == maxUnstored {
			seqs, err := stored(ctx, acks[:1])
			if err != nil {
				return nil, err
			}
			acks, chunks = append(acks[:0], acks[1:]...), append(chunks, seqs...)
		}
		acks = append(acks, o.bus.PublishAsync(events.Message{Subject: o.chunks(id), Body: chunk}, Expect{}))
	}
	seqs, err := stored(ctx, acks)
	if err != nil {
		return nil, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != ref.Digest {
		return nil, fmt.Errorf("%w: the bytes changed while they were read", ErrConflict)
	}
	return append(chunks, seqs...), nil
}

// attended is a reader that returns the context's error once the context has ended.
type attended struct {
	ctx context.Context
	r   io.Reader
}

func (a *attended) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.r.Read(p)
}

// GetTo is like Get, for blobs that need not fit into memory. The digest is known only at the end, so the bytes written are
// valid only if it returns no error. Errors: those of Get and of the writer.
func (o Blobs) GetTo(ctx context.Context, job, digest string, w io.Writer) error {
	info, at, err := o.only(ctx, job, digest)
	if err == nil {
		err = o.writeTo(ctx, info, at, digest, w)
	}
	if err != nil {
		return fmt.Errorf("get blob %s of job %s: %w", digest, job, err)
	}
	return nil
}

func (o Blobs) writeTo(ctx context.Context, info *blobInfo, before uint64, digest string, w io.Writer) error {
	sum, left := sha256.New(), info.Size
	var failed error
	if left > 0 {
		err := o.pieces(ctx, info, before, func(chunk []byte) bool {
			sum.Write(chunk)
			left -= int64(len(chunk))
			_, failed = w.Write(chunk)
			return failed == nil && left > 0
		})
		if err := errors.Join(failed, err); err != nil {
			return err
		}
	}
	if hex.EncodeToString(sum.Sum(nil)) != digest {
		return fmt.Errorf("%w: its bytes do not have this digest", ErrNotFound)
	}
	return nil
}
