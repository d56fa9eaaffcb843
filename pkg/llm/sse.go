package llm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits on the size of answers and requests, in bytes.
const (
	// maxEvent limits one event of a stream, maxBody a complete answer.
	maxEvent = 8 << 20
	maxBody  = 8 << 20
	// maxAnswer limits what is kept of a streamed answer: its texts, calls and encrypted reasoning. That is about two
	// million tokens.
	maxAnswer = 8 << 20
	// maxStream limits a whole stream. Its events carry a few letters in some hundred bytes and are not kept.
	maxStream = 64 << 20
	maxError  = 1 << 20
	// maxRequest limits a request, including images.
	maxRequest = 64 << 20
	// callSize is the size of a call besides its texts.
	callSize = 256
)

// errTooLarge means that a body or an event exceeds its limit.
var errTooLarge = errors.New("more bytes than the limit")

// eventReader splits a stream of server-sent events into their data. Lines end in LF, CR or CRLF; several data lines of one
// event are joined by LF; comments, ids and retry hints are skipped.
type eventReader struct {
	lines *bufio.Reader
	// skipLF is true after a CR, whose LF may only arrive with the next bytes.
	skipLF bool
	first  bool
	// text and data are the buffers of the latest line and of the latest event, which are reused.
	text, data []byte
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{lines: bufio.NewReader(r), first: true}
}

// next returns name and data of the next event that has data; the data is valid until the next call. An event cut off by
// the end of the stream counts too: some providers leave out the last empty line, and data that was really cut does not
// decode.
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

// line reads up to the end of a line, which it leaves out. At the end of the stream it returns the rest with io.EOF. The
// line is valid until the next call.
func (e *eventReader) line(limit int) ([]byte, error) {
	e.text = e.text[:0]
	for {
		if _, err := e.lines.Peek(1); err != nil {
			return e.text, err
		}
		here, _ := e.lines.Peek(e.lines.Buffered()) // They are buffered, so this cannot fail.
		if e.skipLF {
			e.skipLF = false
			if here[0] == '\n' {
				_, _ = e.lines.Discard(1) // It is buffered, so this cannot fail.
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
			_, _ = e.lines.Discard(most) // They are buffered, so this cannot fail.
			continue
		}
		e.skipLF = here[end] == '\r'
		_, _ = e.lines.Discard(end + 1) // They are buffered, so this cannot fail.
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
