package redact

import "io"

// Reader reads what another reader has without the secrets, each of them replaced by Mask. What may be the beginning of a secret is
// held back until more is read; at the end, most of a secret counts as one. It is the reader itself when there is nothing to take out.
func (r *Redactor) Reader(from io.Reader) io.Reader {
	if r.Empty() {
		return from
	}
	return &reader{from: from, stream: r.Stream(false)}
}

type reader struct {
	from   io.Reader
	stream *Stream
	room   []byte // What is read into, made with the first read.
	clean  string // What was read and not given yet.
	err    error  // Comes after clean.
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for r.clean == "" {
		if r.err != nil || len(p) == 0 {
			return 0, r.err
		}
		if r.room == nil {
			r.room = make([]byte, 4<<10)
		}
		n, err := r.from.Read(r.room)
		r.clean, r.err = r.stream.Feed(string(r.room[:n])), err
		if err != nil {
			r.clean += r.stream.Flush()
		}
	}
	n := copy(p, r.clean)
	r.clean = r.clean[n:]
	return n, nil
}
