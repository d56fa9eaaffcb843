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
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{lines: bufio.NewReader(r), first: true}
}

// next is the data of the next event that has any, and the event's name. An event that the end of the stream cuts off
// counts too: some providers leave out the last empty line, and what is cut does not decode.
func (e *eventReader) next() (name string, data []byte, err error) {
	var has bool
	for {
		line, err := e.line(maxEvent - len(data))
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			if errors.Is(err, io.EOF) && has {
				return name, data, nil
			}
			return "", nil, err
		}
		if len(line) == 0 {
			if has {
				return name, data, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, value...), true
		case "event":
			name = string(value)
		}
	}
}

// line reads up to the end of a line, which it leaves out. At the end of the stream it gives what there is, with io.EOF.
func (e *eventReader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		c, err := e.lines.ReadByte()
		if err != nil {
			return line, err
		}
		if e.skipLF {
			e.skipLF = false
			if c == '\n' {
				continue
			}
		}
		if c == '\n' || c == '\r' {
			e.skipLF = c == '\r'
			if e.first {
				e.first = false
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			return line, nil
		}
		if len(line) >= limit {
			return nil, fmt.Errorf("read event: %w", errTooLarge)
		}
		line = append(line, c)
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
