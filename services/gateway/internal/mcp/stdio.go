package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves one client over a pair of streams with one message per line, until the client leaves or ctx ends. A line that is not
// a message gets a JSON-RPC error; the SDK would end the connection. Errors: those of reading and writing.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	messages, feed := io.Pipe()
	to := &lineWriter{w: out}
	go func() { // Ends with in, or when messages is closed.
		_ = feed.CloseWithError(s.sift(in, feed, to)) // It never fails.
	}()
	return s.sdk.Run(ctx, &sdk.IOTransport{Reader: messages, Writer: to, MaxLineLength: -1})
}

// sift passes on the lines that are messages, and answers all others with an error.
func (s *Server) sift(in io.Reader, feed io.Writer, to *lineWriter) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := readLine(lines, s.Body)
		if len(bytes.TrimSpace(line)) > 0 || long {
			bad := fault(line, long, s.Body)
			if bad == nil {
				_, bad = feed.Write(append(bytes.TrimSpace(line), '\n'))
				if bad != nil {
					return bad
				}
			} else if failed := to.refuse(bad); failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line. A line longer than most is read to its end and dropped.
func readLine(r *bufio.Reader, most int64) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || int64(len(line)+len(part)) > most; !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// fault returns what is wrong with a line; nil if it is a message.
func fault(line []byte, long bool, most int64) error {
	invalid := func(text string) error {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
	}
	switch {
	case long:
		return invalid(fmt.Sprintf("the message has more than %d bytes", most))
	case !utf8.Valid(line) || !json.Valid(line):
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not a JSON text: write one message per line"}
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return invalid("the line is not a message of JSON-RPC 2.0: " + err.Error())
	}
	return nil
}

// lineWriter writes whole lines: messages of the protocol, and errors.
type lineWriter struct {
	mu sync.Mutex // Guards w and rest.
	w  io.WriteCloser
	// rest is the beginning of an incomplete line.
	rest []byte
}

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	_, err := l.w.Write(l.rest[:end])
	l.rest = append(l.rest[:0], l.rest[end:]...)
	return len(p), err
}

// Close implements io.Closer.
func (l *lineWriter) Close() error { return l.w.Close() }

// refuse answers a line whose id is unknown.
func (l *lineWriter) refuse(bad error) error {
	text, err := json.Marshal(object{"jsonrpc": "2.0", "id": nil, "error": bad})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.w.Write(append(text, '\n'))
	return err
}
