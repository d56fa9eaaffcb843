package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Streams creates, checks and surveys all streams and buckets of a bus.
type Streams struct{ bus *Bus }

// Init creates the missing streams, buckets and consumers and checks the existing ones. It changes no stream, except that with a
// list of signers it prepares them for signatures (Demand). If a stream is foreign, differs from the table, or uses subjects of a
// missing one, Init creates nothing and returns an error; for an optional stream it only logs that. The error is events.Faults with
// all differences, or wraps ErrUnavailable or ErrNotPermitted.
func (s Streams) Init(ctx context.Context) error {
	missing, faults, err := s.inspect(ctx)
	faults, _ = s.divide(faults)
	if err == nil && len(faults) == 0 {
		faults, err = s.overlap(ctx, slices.DeleteFunc(slices.Clone(missing), func(c jetstream.StreamConfig) bool {
			return optional(s.bus.names, c.Name) // The server itself refuses to create it.
		}))
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if len(faults) > 0 {
		return faults
	}
	for _, cfg := range missing {
		if err := s.create(ctx, cfg); err != nil {
			if optional(s.bus.names, cfg.Name) && ctx.Err() == nil {
				s.bus.logger.Warn("optional stream cannot be created; see jobgraph doctor", "stream", cfg.Name, "error", err)
				continue
			}
			return fmt.Errorf("init: create stream %s: %w", cfg.Name, err)
		}
	}
	for _, spec := range s.bus.Queues().consumers() {
		if err := s.bus.Queues().EnsureConsumer(ctx, spec); err != nil {
			return fmt.Errorf("init: %w", err)
		}
	}
	have, _, err := s.bus.Queues().partitions(ctx)
	if err == nil && len(have) == 0 {
		_, err = s.bus.Queues().EnsurePartitions(ctx, 1)
	}
	if err == nil && s.bus.Signed() {
		err = s.Demand(ctx, true)
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	return nil
}

// InitOptional creates the missing optional streams, which Init only tries. The error is events.Faults with those that cannot be created,
// and why, or that of inspecting the server.
func (s Streams) InitOptional(ctx context.Context) error {
	missing, _, err := s.inspect(ctx)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	var faults events.Faults
	for _, cfg := range missing {
		if !optional(s.bus.names, cfg.Name) {
			continue
		}
		err := s.create(ctx, cfg)
		var f *events.Fault
		if err != nil && !errors.As(err, &f) {
			f = &events.Fault{Code: events.CodeUnavailable, Field: cfg.Name, Message: "the stream cannot be created", Cause: err.Error(), Hint: "run `jobgraph init` again"}
		}
		if f != nil {
			faults = append(faults, *f)
		}
	}
	return faults.OrNil()
}

// create creates a stream, unless it exists. If the server has no room for it, the error is ErrFull with an *events.Fault that says what
// makes room.
func (s Streams) create(ctx context.Context, cfg jetstream.StreamConfig) error {
	cfg.Replicas = s.bus.replicas
	_, err := s.bus.js.CreateStream(ctx, cfg)
	if err == nil || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil
	}
	var api *jetstream.APIError
	unmade := errors.As(err, &api) && api.ErrorCode == codeCreateFailed
	cause := class(err)
	if !unmade && !errors.Is(cause, ErrFull) {
		return cause
	}
	f := events.Fault{
		Code: events.CodeUnavailable, Field: cfg.Name, Message: "the server has no room for the stream", Cause: cause.Error(),
		Hint: "free room on the disk of the server, or raise its max_file_store, then run `jobgraph init`",
	}
	if unmade {
		f.Message = "the server cannot make the files of the stream; its disk may be full"
	}
	if cfg.MaxBytes > 0 {
		f.Message += fmt.Sprintf(", for which it reserves %d MiB", cfg.MaxBytes>>20)
	}
	return fmt.Errorf("%w: %w", ErrFull, &f)
}

// divide separates what is wrong with streams that everything needs from what is wrong with optional ones.
func (s Streams) divide(all events.Faults) (faults, lesser events.Faults) {
	for _, f := range all {
		if name, _, _ := strings.Cut(f.Field, "."); optional(s.bus.names, name) {
			lesser = append(lesser, f)
		} else {
			faults = append(faults, f)
		}
	}
	return faults, lesser
}

// CheckOptional returns what is wrong with optional streams, or that they do not exist, as events.Faults: services work
// without them, but do less.
func (s Streams) CheckOptional(ctx context.Context) error {
	missing, faults, err := s.inspect(ctx)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for _, cfg := range missing {
		f := absent("stream", cfg.Name)
		if cfg.MaxBytes > 0 {
			f.Hint += fmt.Sprintf("; it needs %d MiB of the server's store, which `jobgraph init` says if they are missing", cfg.MaxBytes>>20)
		}
		faults = append(faults, f)
	}
	_, lesser := s.divide(faults)
	return lesser.OrNil()
}

// Check returns everything that Init would create or refuse, as events.Faults, except subjects that foreign streams use and
// what is optional. It changes nothing and needs no permission to.
func (s Streams) Check(ctx context.Context) error {
	missing, faults, err := s.inspect(ctx)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	gone := map[string]bool{}
	for _, cfg := range missing {
		gone[cfg.Name] = true
		faults = append(faults, absent("stream", cfg.Name))
	}
	faults, _ = s.divide(faults)
	for _, spec := range s.bus.Queues().consumers() {
		if gone[spec.Stream] {
			continue
		}
		_, err := s.bus.js.Consumer(ctx, spec.Stream, spec.Durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			faults = append(faults, absent("consumer", spec.Stream+"."+spec.Durable))
		} else if err != nil {
			return fmt.Errorf("check consumer %s: %w", spec.Durable, class(err))
		}
	}
	return faults.OrNil()
}

func absent(what, name string) events.Fault {
	return events.Fault{
		Code: events.CodeNotFound, Field: name, Message: "the " + what + " does not exist",
		Hint: "run `jobgraph init` with the right to create streams and consumers",
	}
}

// inspect compares the server with the table.
func (s Streams) inspect(ctx context.Context) (missing []jetstream.StreamConfig, faults events.Faults, err error) {
	if fault, err := s.oldServer(ctx); err != nil || fault != nil {
		if fault != nil {
			faults = append(faults, *fault)
		}
		return nil, faults, err
	}
	for _, want := range streams(s.bus.names) {
		stream, err := s.bus.js.Stream(ctx, want.Name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			missing = append(missing, want)
		case err != nil:
			return nil, nil, fmt.Errorf("read stream %s: %w", want.Name, class(err))
		default:
			have := stream.CachedInfo().Config
			faults = append(faults, differences(&have, &want)...)
		}
	}
	return missing, faults, nil
}

func (s Streams) oldServer(ctx context.Context) (*events.Fault, error) {
	account, err := s.bus.js.AccountInfo(ctx)
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return &events.Fault{
			Code: events.CodeUnavailable, Field: "server", Message: "JetStream is not enabled",
			Hint: "start nats-server with -js, or enable JetStream for this account",
		}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read account: %w", class(err))
	}
	if account.API.Level >= apiLevel {
		return nil, nil
	}
	return &events.Fault{
		Code: events.CodeUnavailable, Field: "server",
		Message: fmt.Sprintf("nats-server %s offers API level %d, level %d is needed", s.bus.nc.ConnectedServerVersion(), account.API.Level, apiLevel),
		Hint:    "upgrade to nats-server 2.15 or later",
	}, nil
}

// differences lists where a stream breaks the promises of the table. Sizes, ages and replicas are up to the operator,
// except a maximum age of the log, which would delete history.
func differences(have, want *jetstream.StreamConfig) events.Faults {
	if have.Metadata[topologyMark] != topologyForm {
		return events.Faults{{
			Code: events.CodeConflict, Field: want.Name, Message: "a stream of this name exists and is not ours",
			Hint: "choose another prefix (--prefix), or remove the stream",
		}}
	}
	var faults events.Faults
	for _, row := range settings(have, want) {
		if want.MaxBytes > 0 && (row.name == "max_age" || row.name == "max_msgs_per_subject") {
			continue // The limits of a stream that drops its oldest messages are up to the operator.
		}
		if is, wanted := fmt.Sprint(row.have), fmt.Sprint(row.want); is != wanted {
			faults = append(faults, events.Fault{
				Code: events.CodeConflict, Field: want.Name + "." + row.name, Message: "is " + is + ", want " + wanted,
				Hint: "set it back with `nats stream edit`, or export the jobs, remove the stream and run `jobgraph init`",
			})
		}
	}
	return faults
}

// setting is one property that the table promises.
type setting struct {
	name       string
	have, want any
}

func settings(have, want *jetstream.StreamConfig) []setting {
	blobs := strings.HasPrefix(want.Name, "OBJ_") // Demand decides whether roll-ups are allowed in object stores.
	list := []setting{
		{"subjects", sorted(have.Subjects), sorted(want.Subjects)},
		{"sources", sourcesOf(have), sourcesOf(want)},
		{"retention", have.Retention, want.Retention},
		{"discard", have.Discard, want.Discard},
		{"max_msgs_per_subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject},
		{"no_ack", have.NoAck, want.NoAck},
		{"sealed", have.Sealed, want.Sealed},
		{"deny_delete", have.DenyDelete, want.DenyDelete},
		{"deny_purge", have.DenyPurge, want.DenyPurge},
		{"allow_rollup_hdrs", have.AllowRollup || blobs, want.AllowRollup},
		{"allow_direct", have.AllowDirect, want.AllowDirect},
		{"allow_msg_ttl", have.AllowMsgTTL, want.AllowMsgTTL},
		{"allow_msg_schedules", have.AllowMsgSchedules, want.AllowMsgSchedules},
		{"subject_transform", have.SubjectTransform, want.SubjectTransform},
		{"duplicate_window", have.Duplicates, want.Duplicates},
		{"max_age", have.MaxAge, want.MaxAge},
	}
	return list
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func sourcesOf(c *jetstream.StreamConfig) []string {
	var list []string
	for _, source := range c.Sources {
		for _, t := range source.SubjectTransforms {
			list = append(list, source.Name+": "+t.Source+" -> "+t.Destination)
		}
	}
	return sorted(list)
}
