package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// scene describes the stage to raise.
type scene struct {
	// side names the system; kit is what its runner gets besides the experts of the side.
	side  string
	kit   kit
	under Conditions
	// profile is a folder for CPU profiles, empty for none.
	profile string
	// secure gives each part a key and a role on the bus.
	secure bool
	// self starts this program as a child; log is the log of the services.
	self []string
	log  *slog.Logger
	// fail is called if a part ends by itself.
	fail func(error)
}

// stage is a running system: server, parts and driver.
type stage struct {
	store  string
	cast   cast
	reader *reader
	driver driver
}

// raise starts the server, prepares the streams and starts the parts.
func raise(ctx context.Context, c scene) (*stage, error) {
	store, err := os.MkdirTemp("", "jobgraph-bench-")
	if err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	if err := furnish(c.side, store, &c.kit); err != nil {
		return nil, errors.Join(err, os.RemoveAll(store))
	}
	sys, err := systemOf(c.side, c.kit)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(store))
	}
	s := &stage{store: store}
	order := order{
		Side: c.side, Kit: c.kit, Store: filepath.Join(store, "server"), SyncAlways: c.under.Sync == SyncAlways, Profile: c.profile,
	}
	if c.secure {
		order.Secure = store
		if err := equip(store); err != nil {
			return nil, errors.Join(err, os.RemoveAll(store))
		}
	}
	var at address
	if c.under.Mode == ModeServices {
		s.cast, at, err = newCompany(ctx, c, order)
	} else {
		s.cast, at, err = newSolo(c, order)
	}
	if err == nil {
		s.reader, err = newReader(at, "bench-reader")
	}
	if err == nil {
		s.driver, err = sys.drive(ctx, at, s.reader)
	}
	if err == nil {
		for _, p := range sys.parts() {
			err = errors.Join(err, s.cast.add(ctx, p))
		}
	}
	if d, ours := s.driver.(*oursDriver); err == nil && ours && c.secure {
		err = d.announced(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.strike())
	}
	return s, nil
}

func (s *stage) usage() (usage, error) {
	u, err := s.cast.usage()
	return u.plus(ownUsage()), err
}

// strike ends everything and removes the store.
func (s *stage) strike() error {
	if s.reader != nil {
		s.reader.close()
	}
	return errors.Join(s.cast.end(), os.RemoveAll(s.store))
}
