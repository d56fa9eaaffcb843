package stream

import (
	"bytes"
	"net/http"
	"time"
)

// retryText says how long a browser waits before it reconnects, in milliseconds.
const retryText = "retry: 1000\n\n"

// Writer sends server-sent events to one connection. It belongs to one goroutine.
type Writer struct {
	w     http.ResponseWriter
	to    *http.ResponseController
	limit time.Duration
	text  bytes.Buffer
}

// Open answers a request with a stream. A write that takes longer than limit ends the connection.
func Open(w http.ResponseWriter, limit time.Duration) (*Writer, error) {
	s, err := Plain(w, limit)
	if err != nil {
		return nil, err
	}
	s.text.WriteString(retryText)
	return s, s.flush()
}

// Plain is Open for clients that expect only data: nothing is sent until the first event.
func Plain(w http.ResponseWriter, limit time.Duration) (*Writer, error) {
	s := &Writer{w: w, to: http.NewResponseController(w), limit: limit}
	// The server's limit for reading a request would end the connection, since the request of a stream does not end.
	if err := s.to.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // Proxies pass events on at once.
	w.WriteHeader(http.StatusOK)
	return s, nil
}

// Send sends an event; data has no line breaks. Without an id the reader keeps the last one.
func (s *Writer) Send(id, event string, data []byte) error {
	s.Add(id, event, data)
	return s.flush()
}

// Add buffers an event to be sent with the next one, or by Flush.
func (s *Writer) Add(id, event string, data []byte) {
	if id != "" {
		s.text.WriteString("id: " + id + "\n")
	}
	if event != "" {
		s.text.WriteString("event: " + event + "\n")
	}
	s.text.WriteString("data: ")
	s.text.Write(data)
	s.text.WriteString("\n\n")
}

// Flush sends what Add has buffered.
func (s *Writer) Flush() error {
	if s.text.Len() == 0 {
		return nil
	}
	return s.flush()
}

// Full reports whether enough is buffered to be sent.
func (s *Writer) Full() bool { return s.text.Len() >= 32<<10 }

// Beat sends a comment, so that proxies and readers see that the connection is alive.
func (s *Writer) Beat() error {
	s.text.WriteString(": alive\n\n")
	return s.flush()
}

func (s *Writer) flush() error {
	defer s.text.Reset()
	if err := s.to.SetWriteDeadline(time.Now().Add(s.limit)); err != nil {
		return err
	}
	if _, err := s.w.Write(s.text.Bytes()); err != nil {
		return err
	}
	return s.to.Flush()
}
