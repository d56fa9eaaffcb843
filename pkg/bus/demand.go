package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// signedMark is the key in the metadata of the log that says that signatures count on this bus.
const signedMark = "io.jobgraph.signed"

// Demand records in the metadata of the log whether signatures count on this bus, for Demanded. Where they do, no header of a message
// may remove other descriptions of a payload; elsewhere it may, as earlier releases require. Errors: ErrNotFound, ErrNotPermitted,
// ErrUnavailable.
func (s Streams) Demand(ctx context.Context, signatures bool) error {
	err := s.alter(ctx, "OBJ_"+s.bus.names.Blobs, func(c *jetstream.StreamConfig) bool {
		changed := c.AllowRollup == signatures
		c.AllowRollup = !signatures
		return changed
	})
	if err == nil {
		err = s.alter(ctx, s.bus.names.Log, func(c *jetstream.StreamConfig) bool {
			changed := demands(c) != signatures
			if delete(c.Metadata, signedMark); signatures {
				c.Metadata[signedMark] = "true"
			}
			return changed
		})
	}
	if err != nil {
		return fmt.Errorf("note whether signatures count: %w", err)
	}
	return nil
}

// alter changes the configuration of a stream, unless change reports that it is as it should be.
func (s Streams) alter(ctx context.Context, name string, change func(*jetstream.StreamConfig) (changed bool)) error {
	stream, err := s.bus.js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("read stream %s: %w", name, class(err))
	}
	cfg := stream.CachedInfo().Config
	if !change(&cfg) {
		return nil
	}
	if _, err := s.bus.js.UpdateStream(ctx, cfg); err != nil {
		return fmt.Errorf("change stream %s: %w", name, class(err))
	}
	return nil
}

// demands reports whether the log of this configuration says that signatures count.
func demands(log *jetstream.StreamConfig) bool { return log.Metadata[signedMark] != "" }

// Demanded reports whether Demand has recorded that signatures count on this bus. Errors: ErrNotFound, ErrUnavailable.
func (s Streams) Demanded(ctx context.Context) (bool, error) {
	log, err := s.bus.js.Stream(ctx, s.bus.names.Log)
	if err != nil {
		return false, fmt.Errorf("read stream %s: %w", s.bus.names.Log, class(err))
	}
	return demands(&log.CachedInfo().Config), nil
}

// CheckSigned returns an error if signatures count on this bus and this process has no list of signers. Such a process would accept
// forged answers and omit what the permissions of other services require, so jobs would not end. Errors: events.Faults, and those of
// Demanded.
func (s Streams) CheckSigned(ctx context.Context) error {
	if s.bus.Signed() {
		return nil
	}
	demanded, err := s.Demanded(ctx)
	if err != nil || !demanded {
		return err
	}
	return events.Faults{{
		Code: events.CodeMissing, Field: "signers",
		Message: fmt.Sprintf("this bus has roles: its log, stream %s, says that answers and control events count only with a signature, and this process has no list of the keys that count", s.bus.names.Log),
		Hint:    "set JOBGRAPH_SIGNERS (--signers) to the signers.json that `jobgraph init --secure DIR` has made, as the .env file beside it does; if signatures are to count no longer: `jobgraph init --unsigned`",
	}}
}
