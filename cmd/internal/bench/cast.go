package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats-server/v2/server"
)

// cast runs the server and the parts of a stage.
type cast interface {
	// add starts a part.
	add(ctx context.Context, p part) error
	// usage sums the resources of processes other than this one.
	usage() (usage, error)
	// end stops the parts, the last one first, then the server. Its error is that of a part that failed by itself.
	end() error
}

// order tells a part or a server what to run.
type order struct {
	Side string `json:"side"`
	// Part is the part's name, serverPart for the server.
	Part string `json:"part"`
	// Kit is what the runner gets in addition to its side's experts.
	Kit kit `json:"kit,omitzero"`
	// URL is the address of the server, for parts.
	URL string `json:"url,omitempty"`
	// Store is the folder of the server's store; SyncAlways makes the server sync each write before it acknowledges it.
	Store      string `json:"store,omitempty"`
	SyncAlways bool   `json:"sync_always,omitempty"`
	// Profile is the folder for a CPU profile, empty for none.
	Profile string `json:"profile,omitempty"`
	// Secure is the folder of keys and accounts, empty for a bus without permissions.
	Secure string `json:"secure,omitempty"`
}

// serverPart is the name of the server among the parts.
const serverPart = "nats-server"

// solo runs everything in this process.
type solo struct {
	log   *slog.Logger
	fail  func(error) // Called if a part ends by itself.
	nats  *server.Server
	parts []*running
	// secure is the folder of keys, empty for none.
	secure string
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
	nats, err := startServer(o, false)
	s := &solo{log: c.log, fail: c.fail, nats: nats, secure: o.Secure}
	return s, address{embedded: nats, log: c.log, secure: o.Secure}, err
}

func (s *solo) add(ctx context.Context, p part) error {
	ctx, stop := context.WithCancel(ctx)
	r := &running{name: p.name, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = p.run(ctx, address{embedded: s.nats, log: s.log, secure: s.secure})
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
