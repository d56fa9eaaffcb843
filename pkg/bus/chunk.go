package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Everyone who may store payloads may publish on the subject of the chunks of any blob, even between them while they are being stored. So a
// description lists the sequences of its chunks, and no other message counts. Earlier releases and other NATS clients do not list them: for
// their descriptions, everything on the subject up to the description counts.

const (
	// chunkList is the key of the list in the metadata of an object: ranges of sequences in the order of the bytes, as in "17-40,42".
	chunkList = "chunks"
	// maxChunks is how many chunks a blob may have.
	maxChunks = MaxBlob / chunkSize
	// readAhead is how many chunks are requested at once.
	readAhead = 32
)

// ranges formats sequences.
func ranges(seqs []uint64) string {
	var b strings.Builder
	for i := 0; i < len(seqs); {
		to := i + 1
		for to < len(seqs) && seqs[to] == seqs[to-1]+1 {
			to++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(seqs[i], 10))
		if to > i+1 {
			b.WriteString("-" + strconv.FormatUint(seqs[to-1], 10))
		}
		i = to
	}
	return b.String()
}

// sequences parses what ranges has formatted. Every sequence is below before. Errors: ErrNotFound.
func sequences(list string, before uint64) ([]uint64, error) {
	var seqs []uint64
	for part := range strings.SplitSeq(list, ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 64)
		to, problem := strconv.ParseUint(last, 10, 64)
		if err != nil || problem != nil || from == 0 || to < from || to >= before || to-from >= uint64(maxChunks-len(seqs)) {
			return nil, fmt.Errorf("%w: its description lists no chunks that can be its own", ErrNotFound)
		}
		for seq := from; seq <= to; seq++ {
			seqs = append(seqs, seq)
		}
	}
	return seqs, nil
}

// pieces calls f with the chunks of a blob in order until it returns false; at is the sequence of the description. Errors: ErrNotFound,
// ErrUnavailable.
func (o Blobs) pieces(ctx context.Context, info *blobInfo, at uint64, f func([]byte) bool) error {
	list, listed := info.Metadata[chunkList]
	if !listed {
		return o.bus.each(ctx, o.stream(), o.chunks(info.NUID), 1, at, func(chunk Stored) bool { return f(chunk.Body) })
	}
	seqs, err := sequences(list, at)
	if err != nil {
		return err
	}
	var foreign error
	err = o.bus.pick(ctx, o.stream(), seqs, func(chunk Stored) bool {
		if chunk.Subject != o.chunks(info.NUID) {
			foreign = fmt.Errorf("%w: its description lists a message that is none of its chunks", ErrNotFound)
			return false
		}
		return f(chunk.Body)
	})
	return errors.Join(foreign, err)
}

// picked is a message that was asked for, or why it did not come.
type picked struct {
	Stored
	err error
}

// pick reads messages of a stream by their sequences and calls f in this order until it returns false. It asks for several at once.
// Errors: ErrNotFound, ErrUnavailable.
func (b *Bus) pick(ctx context.Context, stream string, seqs []uint64, f func(Stored) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answers := make(chan chan picked, readAhead)
	asking.Go(func() { // Ends with the list, or with ctx.
		defer close(answers)
		for _, seq := range seqs {
			one := make(chan picked, 1)
			select {
			case answers <- one:
			case <-ctx.Done():
				return
			}
			asking.Go(func() { // Ends with the answer, or with ctx.
				s, err := b.at(ctx, stream, seq)
				one <- picked{s, err}
			})
		}
	})
	for one := range answers {
		p := <-one
		if p.err != nil || !f(p.Stored) {
			return p.err
		}
	}
	return ctx.Err()
}

// at reads the message with a sequence, from the leader if a replica does not have it.
func (b *Bus) at(ctx context.Context, stream string, seq uint64) (Stored, error) {
	s, err := b.direct(ctx, stream, query{Seq: seq})
	if errors.Is(err, ErrNotFound) {
		return b.leader(ctx, stream, query{Seq: seq})
	}
	return s, err
}
