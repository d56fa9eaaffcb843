package redact

import "io"

// Reader returns a reader of from without secrets, each replaced by Mask. Text that may be the beginning of a secret is
// held back until more is read; at the end, most of a secret counts as one. If there are no secrets, it returns from
// itself.
func (r *Redactor) Reader(from io.Reader) io.Reader {
	if r.Empty() {
		return from
	}
	return &reader{from: from, stream: r.Stream(false)}
}

type reader struct {
	from   io.Reader
	stream *Stream
	room   []byte // The read buffer, allocated at the first read.
	clean  string // Text that was read and not yet returned.
	err    error  // The error to return once clean has been returned.
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
