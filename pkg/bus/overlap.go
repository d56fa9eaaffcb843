package bus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// overlap finds foreign streams that use subjects of our missing streams: the server would refuse to create ours.
func (s Streams) overlap(ctx context.Context, missing []jetstream.StreamConfig) (events.Faults, error) {
	var wanted []string
	others := map[string]bool{}
	for _, want := range missing {
		for _, subject := range want.Subjects {
			wanted = append(wanted, subject)
			names, err := s.namesOf(ctx, subject)
			if err != nil {
				return nil, fmt.Errorf("list streams of %s: %w", subject, class(err))
			}
			for _, name := range names {
				others[name] = true
			}
		}
	}
	var faults events.Faults
	for _, name := range slices.Sorted(maps.Keys(others)) {
		stream, err := s.bus.js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read stream %s: %w", name, class(err))
		}
		taken, of := colliding(stream.CachedInfo().Config.Subjects, wanted)
		if len(taken) == 0 {
			continue // A stream without subjects uses its name as its subject.
		}
		faults = append(faults, events.Fault{
			Code: events.CodeConflict, Field: name,
			Message: fmt.Sprintf("the stream takes %s, which overlaps with %s", strings.Join(taken, ", "), strings.Join(of, ", ")),
			Hint:    "choose another prefix (--prefix), or take other subjects for that stream with `nats stream edit " + name + "`",
		})
	}
	return faults, nil
}

// namesOf returns the streams that take a subject.
func (s Streams) namesOf(ctx context.Context, subject string) ([]string, error) {
	ctx, stop := s.bus.denials.guard(ctx, apiPrefix+"STREAM.NAMES")
	defer stop()
	lister := s.bus.js.StreamNames(ctx, jetstream.WithStreamListSubject(subject))
	var names []string
	for name := range lister.Name() {
		names = append(names, name)
	}
	return names, refusalIn(ctx, lister.Err())
}

// colliding returns the subjects of each list that overlap with one of the other list.
func colliding(have, want []string) (taken, of []string) {
	for _, h := range have {
		if slices.ContainsFunc(want, func(w string) bool { return collide(h, w) }) {
			taken = append(taken, h)
		}
	}
	for _, w := range want {
		if slices.ContainsFunc(have, func(h string) bool { return collide(h, w) }) {
			of = append(of, w)
		}
	}
	return taken, of
}

// collide reports whether some subject matches both patterns.
func collide(a, b string) bool {
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(left), len(right)) {
		switch l, r := left[i], right[i]; {
		case l == ">" || r == ">":
			return true
		case l != r && l != "*" && r != "*":
			return false
		}
	}
	return len(left) == len(right)
}
