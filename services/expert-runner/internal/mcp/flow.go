package mcp

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// A server may send a few messages of maximum size at once, and a limited amount per second. Each message also counts a
// fixed weight for its memory, so that many small messages are limited like few large ones.
const (
	flowBurst     = 4
	flowRate      = 1 << 20
	messageWeight = 1 << 10
)

// messageMark occurs once in every message.
const messageMark = `"jsonrpc"`

// errFlood ends a server that sends too much.
var errFlood = errors.New("it sends more than it may")

// flow limits what a server sends over time, over all its connections.
type flow struct {
	mu   sync.Mutex // Guards left and at.
	left float64
	most float64
	at   time.Time
	// over is called when the limit is exceeded; it may be called more than once.
	over func()
}

func newFlow(limit int, now time.Time, over func()) *flow {
	most := float64(flowBurst * limit)
	return &flow{left: most, most: most, at: now, over: over}
}

// take counts bytes and weights, and returns an error if there are too many.
func (f *flow) take(n int, now time.Time) error {
	f.mu.Lock()
	f.left = min(f.most, f.left+now.Sub(f.at).Seconds()*flowRate) - float64(n)
	f.at = now
	flooded := f.left < 0
	f.mu.Unlock()
	if flooded {
		f.over()
		return errFlood
	}
	return nil
}

// counted is a reader that counts bytes and messages; limit bounds the total of bytes, 0 sets no limit.
type counted struct {
	io.ReadCloser
	flow  *flow
	limit int
	read  int
	end   []byte // The end of the previous read: a mark may be split.
	done  func() // Called when it is closed; may be nil.
}

// Close implements io.Closer.
func (c *counted) Close() error {
	if c.done != nil {
		defer c.done()
	}
	return c.ReadCloser.Close()
}

// errTooMuch means that an answer exceeds its limit.
var errTooMuch = errors.New("its answer is larger than it may be")

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.read += n; c.limit > 0 && c.read > c.limit {
		return 0, errTooMuch
	}
	if flooded := c.flow.take(n+messageWeight*c.messages(p[:n]), time.Now()); flooded != nil {
		return 0, flooded
	}
	return n, err
}

// messages counts the marks that end in p.
func (c *counted) messages(p []byte) int {
	const most = len(messageMark) - 1
	seam := append(c.end, p[:min(len(p), most)]...)
	n := bytes.Count(p, []byte(messageMark)) + bytes.Count(seam, []byte(messageMark))
	if len(p) > most {
		seam = p[len(p)-most:]
	}
	c.end = append([]byte(nil), seam[max(0, len(seam)-most):]...)
	return n
}
