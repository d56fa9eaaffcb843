package llm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits of what a provider may send, in bytes.
const (
	// maxEvent bounds one event of a stream, maxBody an answer in one piece.
	maxEvent = 8 << 20
	maxBody  = 8 << 20
	// maxAnswer bounds what is kept of a streamed answer: its texts, calls and sealed thoughts. It is two million tokens.
	maxAnswer = 8 << 20
	// maxStream bounds what a stream brings in all. Its events say a few letters in some hundred bytes, and are not kept.
	maxStream = 64 << 20
	maxError  = 1 << 20
	// maxRequest bounds what is sent, pictures included.
	maxRequest = 64 << 20
	// callSize is what a call takes beside its texts.
	callSize = 256
)

// errTooLarge is what a body or an event beyond its limit gives.
var errTooLarge = errors.New("more bytes than the limit")

// eventReader cuts a stream of server-sent events into their data. Lines end in LF, CR or CRLF; several data lines of one event
// are joined by LF; comments, ids and retry hints are passed over.
type eventReader struct {
	lines *bufio.Reader
	// skipLF is set after a CR, whose LF may only arrive with the next bytes.
	skipLF bool
	first  bool
	// text and data are the latest line and the data of the latest event, whose room is used again.
	text, data []byte
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{lines: bufio.NewReader(r), first: true}
}

// next is the data of the next event that has any, and the event's name; the data stays until the next call. An event that the end of
// the stream cuts off counts too: some providers leave out the last empty line, and what is cut does not decode.
func (e *eventReader) next() (name string, data []byte, err error) {
	e.data = e.data[:0]
	has := false
	for {
		line, err := e.line(maxEvent - len(e.data))
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			if errors.Is(err, io.EOF) && has {
				return name, e.data, nil
			}
			return "", nil, err
		}
		if len(line) == 0 {
			if has {
				return name, e.data, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if has {
				e.data = append(e.data, '\n')
			}
			e.data, has = append(e.data, value...), true
		case "event":
			name = string(value)
		}
	}
}

// line reads up to the end of a line, which it leaves out. At the end of the stream it gives what there is, with io.EOF. The line
// stays until the next call.
func (e *eventReader) line(limit int) ([]byte, error) {
	e.text = e.text[:0]
	for {
		if _, err := e.lines.Peek(1); err != nil {
			return e.text, err
		}
		here, _ := e.lines.Peek(e.lines.Buffered()) // They are there.
		if e.skipLF {
			e.skipLF = false
			if here[0] == '\n' {
				_, _ = e.lines.Discard(1) // It is there.
				continue
			}
		}
		end := bytes.IndexAny(here, "\r\n")
		most := end
		if end < 0 {
			most = len(here)
		}
		if len(e.text)+most > limit {
			return nil, fmt.Errorf("read event: %w", errTooLarge)
		}
		e.text = append(e.text, here[:most]...)
		if end < 0 {
			_, _ = e.lines.Discard(most) // They are there.
			continue
		}
		e.skipLF = here[end] == '\r'
		_, _ = e.lines.Discard(end + 1) // They are there.
		if e.first {
			e.first = false
			return bytes.TrimPrefix(e.text, []byte("\xef\xbb\xbf")), nil
		}
		return e.text, nil
	}
}

// readAll reads a body of at most limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("read body: %w", errTooLarge)
	}
	return data, err
}
