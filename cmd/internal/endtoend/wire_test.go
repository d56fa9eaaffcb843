//go:build sweep

package endtoend

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
)

// frame is one protocol message of a client. A verb without a body has only its line.
type frame struct {
	verb, subject string
	// rest are the words of the line between the subject and the sizes: a reply subject, or the number of a subscription.
	rest   []string
	header []byte
	body   []byte
}

// drop removes the header lines with this prefix.
func (f *frame) drop(prefix string) {
	lines := bytes.SplitAfter(f.header, []byte("\r\n"))
	kept := lines[:0]
	for _, line := range lines {
		if !bytes.HasPrefix(line, []byte(prefix)) {
			kept = append(kept, line)
		}
	}
	f.header = bytes.Join(kept, nil)
}

func (f *frame) bytes() []byte {
	words := append([]string{f.verb, f.subject}, f.rest...)
	if f.verb == "SUB" {
		return []byte(strings.Join(words, " ") + "\r\n")
	}
	if f.verb == "HPUB" {
		words = append(words, strconv.Itoa(len(f.header)))
	}
	words = append(words, strconv.Itoa(len(f.header)+len(f.body)))
	out := []byte(strings.Join(words, " ") + "\r\n")
	return append(append(append(out, f.header...), f.body...), "\r\n"...)
}

// wire is a connection from a service to the server that changes the service's messages.
type wire struct {
	server *bustest.Server
	change func(f *frame)
}

// InProcessConn makes the wire a provider for bus.Options.
func (w *wire) InProcessConn() (net.Conn, error) {
	conn, err := w.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	return &end{Conn: conn, change: w.change}, nil
}

// end is the client's end of a wire. The client writes from one goroutine at a time.
type end struct {
	net.Conn
	change func(f *frame)
	held   []byte // The beginning of an incomplete frame.
}

// Write forwards every complete frame.
func (e *end) Write(b []byte) (int, error) {
	e.held = append(e.held, b...)
	var out []byte
	for {
		n, frame, err := e.next()
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		if frame != nil {
			e.change(frame)
			out = append(out, frame.bytes()...)
		} else {
			out = append(out, e.held[:n]...)
		}
		e.held = e.held[n:]
	}
	if len(out) > 0 {
		if _, err := e.Conn.Write(out); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// next parses the first buffered frame and returns its length, 0 if it is incomplete. A line without anything to change yields no
// frame.
func (e *end) next() (n int, f *frame, err error) {
	line, _, complete := bytes.Cut(e.held, []byte("\r\n"))
	words := strings.Fields(string(line))
	if !complete || len(words) == 0 {
		return 0, nil, nil
	}
	n = len(line) + 2
	verb := words[0]
	if verb == "SUB" {
		return n, &frame{verb: verb, subject: words[1], rest: words[2:]}, nil
	}
	if verb != "PUB" && verb != "HPUB" {
		return n, nil, nil
	}
	last := len(words) - 1
	total, err := strconv.Atoi(words[last])
	header := 0
	if verb == "HPUB" && err == nil {
		last--
		header, err = strconv.Atoi(words[last])
	}
	if err != nil {
		return 0, nil, fmt.Errorf("line %q: %w", line, err)
	}
	if len(e.held) < n+total+2 {
		return 0, nil, nil
	}
	payload := bytes.Clone(e.held[n : n+total])
	return n + total + 2, &frame{verb: verb, subject: words[1], rest: words[2:last], header: payload[:header], body: payload[header:]}, nil
}
