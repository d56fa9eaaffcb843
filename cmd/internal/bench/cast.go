package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
)

// cast is the server and the parts of a stage, wherever they run.
type cast interface {
	// add starts a part.
	add(ctx context.Context, p part) error
	// usage sums what processes other than this one have taken.
	usage() (usage, error)
	// end stops the parts, the last first, then the server. Its error is that of what failed on its own.
	end() error
}

// order is what a part or a server needs to know.
type order struct {
	Side string `json:"side"`
	// Part is the part's name, serverPart for the server.
	Part string `json:"part"`
	// Kit is what the runner has beside the experts of its side.
	Kit kit `json:"kit,omitzero"`
	// URL is where the server is, for parts.
	URL string `json:"url,omitempty"`
	// Store and SyncAlways are for the server.
	Store      string `json:"store,omitempty"`
	SyncAlways bool   `json:"sync_always,omitempty"`
	// Profile is a folder for a CPU profile, empty for none.
	Profile string `json:"profile,omitempty"`
}

// serverPart is the name of the server among the parts.
const serverPart = "nats-server"

// solo runs everything in this process.
type solo struct {
	log   *slog.Logger
	fail  func(error) // Is told of a part that ends unasked.
	nats  *server.Server
	parts []*running
}

// running is a part in a goroutine, which ends after stop; done is closed after err is written.
type running struct {
	name string
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// newSolo starts the server.
func newSolo(c scene, o order) (*solo, address, error) {
	nats, err := startServer(o.Store, false, o.SyncAlways)
	s := &solo{log: c.log, fail: c.fail, nats: nats}
	return s, address{embedded: nats, log: c.log}, err
}

func (s *solo) add(ctx context.Context, p part) error {
	ctx, stop := context.WithCancel(ctx)
	r := &running{name: p.name, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = p.run(ctx, address{embedded: s.nats, log: s.log})
		if ctx.Err() == nil {
			s.fail(fmt.Errorf("%s ended unasked: %w", p.name, r.err))
		}
	}()
	s.parts = append(s.parts, r)
	return nil
}

func (s *solo) usage() (usage, error) { return usage{}, nil }

func (s *solo) end() error {
	var err error
	for i := len(s.parts) - 1; i >= 0; i-- {
		r := s.parts[i]
		r.stop()
		<-r.done
		if r.err != nil && !errors.Is(r.err, context.Canceled) {
			err = errors.Join(err, fmt.Errorf("%s: %w", r.name, r.err))
		}
	}
	if s.nats != nil {
		stopServer(s.nats)
	}
	return err
}
